cat hello.txt ~/mounted/note.txt
