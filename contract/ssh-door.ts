/**
 * Where the nodes of a cluster are in an SSH configuration: the head has the first port, the others
 * those after it. Nothing listens there; control, which every connection goes through, knows a node by it.
 */
export const sshPorts = { first: 10_022 } as const;

/** Runs the SFTP server of a node, wherever its distribution has that. */
export const sftpCommand = `
for server in /usr/lib/openssh /usr/libexec/openssh /usr/lib/ssh /usr/libexec; do
  if [ -x $server/sftp-server ]; then exec $server/sftp-server; fi
done
echo "this node has no SFTP server; install openssh-sftp-server, or copy with scp -O or rsync" >&2
exit 127`;
