// Copies a login token, or hands it to the client that waits at `waiting`.
const [token, copy, done] = ["token", "copy", "done"].map((id) => document.getElementById(id));
copy.hidden = false;
copy.addEventListener("click", async () => {
  token.select();
  await navigator.clipboard?.writeText(token.value);
  done.textContent = "Copied.";
});
document.getElementById("hand-over")?.addEventListener("click", () =>
  fetch(waiting, { method: "POST", headers: { "content-type": "text/plain" }, body: token.value }).then(
    () => { done.textContent = "Handed to the command line. You can close this page."; },
    () => { done.textContent = "The command line does not answer. Paste the token there instead."; },
  ));
