# SPDX-License-Identifier: MIT
"""A directory over NFS: nfs-ganesha (a Debian package) as the server, on loopback, and the kernel's own mount.
`lacking` says why this is not possible."""

import contextlib
import os
import shutil
import socket
import subprocess
import time

import servers

CONFIG = """NFS_CORE_PARAM {
    NFS_Port = %(port)d; Bind_addr = 127.0.0.1; Protocols = 4;
    Enable_NLM = false; Enable_RQUOTA = false;
}
NFSv4 { Graceless = true; RecoveryRoot = "%(state)s"; }
EXPORT {
    Export_Id = 1; Path = "%(folder)s"; Pseudo = "/data"; Access_Type = RO;
    Squash = No_Root_Squash; SecType = sys; Protocols = 4; Transports = TCP;
    FSAL { Name = VFS; }
}
"""
START_SECONDS = 20


def lacking():
    """Returns why nothing can be mounted, or "" if it is possible."""
    with open("/proc/filesystems", encoding="ascii") as file:
        if not any(line.split()[-1] == "nfs4" for line in file):
            return "the kernel here has no NFS, or has not loaded it"
    for program, package in (("ganesha.nfsd", "nfs-ganesha-vfs"), ("mount.nfs4", "nfs-common")):
        if not shutil.which(program):
            return "no %s here (Debian package %s)" % (program, package)
    return "" if os.geteuid() == 0 else "only root may mount NFS"


def _wait_for(process, port):
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.1)
    raise RuntimeError("nfs-ganesha does not answer")


@contextlib.contextmanager
def server(folder, state):
    """Runs nfs-ganesha with the directory as its export /data, and yields its port. `state` becomes a directory."""
    port = servers.free_port()
    os.makedirs(state)
    config, log = os.path.join(state, "ganesha.conf"), os.path.join(state, "log")
    with open(config, "w", encoding="utf-8") as file:
        file.write(CONFIG % {"port": port, "state": state, "folder": folder})
    process = subprocess.Popen(["ganesha.nfsd", "-F", "-f", config, "-L", log, "-p",
                                os.path.join(state, "pid")], preexec_fn=servers.die_with_parent)
    try:
        _wait_for(process, port)
        yield port
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(state)


@contextlib.contextmanager
def mounted(folder, at):
    """Mounts the export in the new directory `at`, and yields the path of the mount."""
    with server(folder, at + "-server") as port:
        os.makedirs(at, exist_ok=True)
        subprocess.run(["mount", "-t", "nfs4", "-o", "ro,port=%d" % port, "127.0.0.1:/data", at],
                       check=True, timeout=START_SECONDS)
        try:
            yield at
        finally:
            subprocess.run(["umount", "-l", at], check=True)
