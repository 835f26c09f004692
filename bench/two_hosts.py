#!/usr/bin/env python3
"""Runs a command as two ranks on two "hosts": network namespaces of this machine, joined by a link with a delay and a
rate. Needs root, Open MPI and /dev/net/tun.

    bench/two_hosts.py --delay-ms 1 --gbit 1 -- build/tapeformer train CONFIG --out RUN

The link is a relay in this process between two TUN devices: a packet leaves when those before it have left at the link's
rate, and arrives a delay later, in both directions at once. (Linux's own emulator, tc netem, is not in every kernel.)
Each rank gets a core of its own where there are two.
"""
import argparse
import fcntl
import heapq
import os
import select
import struct
import subprocess
import sys
import tempfile
import threading
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000
MTU = 60000


def run(*words):
    subprocess.run(words, check=True)


class Host:
    """A namespace with one end of the link."""

    def __init__(self, name, address):
        self.name, self.address = name, address
        self.fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(self.fd, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TUN | IFF_NO_PI))
        run("ip", "netns", "add", name)
        run("ip", "link", "set", name, "netns", name)
        run("ip", "-n", name, "addr", "add", address + "/24", "dev", name)
        run("ip", "-n", name, "link", "set", name, "mtu", str(MTU), "up")
        run("ip", "-n", name, "link", "set", "lo", "up")

    def remove(self):
        subprocess.run(["ip", "netns", "del", self.name])
        os.close(self.fd)


def relay(hosts, delay_s, bytes_per_s, stop):
    free = [0.0, 0.0]  # when each direction has sent what it was given
    under_way, order = [], 0
    fds = [host.fd for host in hosts]
    while not stop.is_set():
        now = time.monotonic()
        while under_way and under_way[0][0] <= now:
            _, _, to, packet = heapq.heappop(under_way)
            try:
                os.write(fds[to], packet)
            except OSError:
                pass  # the other end is not up
        wait = 0.05 if not under_way else max(0.0, under_way[0][0] - time.monotonic())
        # More than a few milliseconds of packets wait in the sender's own queue.
        open_fds = [fd for i, fd in enumerate(fds) if free[i] < now + 0.01]
        ready, _, _ = select.select(open_fds, [], [], min(wait, 0.002 if len(open_fds) < 2 else wait))
        for fd in ready:
            source = fds.index(fd)
            try:
                packet = os.read(fd, MTU + 100)
            except OSError:
                continue
            free[source] = max(free[source], time.monotonic()) + len(packet) / bytes_per_s
            heapq.heappush(under_way, (free[source] + delay_s, order, 1 - source, packet))
            order += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--delay-ms", type=float, default=1)
    parser.add_argument("--gbit", type=float, default=1)
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    hosts, stop = [], threading.Event()
    try:
        hosts = [Host("tfhost%d" % i, "10.77.0.%d" % (i + 1)) for i in range(2)]
        thread = threading.Thread(target=relay, args=(hosts, arguments.delay_ms / 1000, arguments.gbit * 1e9 / 8, stop))
        thread.start()
        with tempfile.TemporaryDirectory() as folder:
            # In place of ssh: a shell in the namespace of that address, with a host name of its own.
            agent = os.path.join(folder, "agent")
            with open(agent, "w") as file:
                file.write('#!/bin/sh\nhost=$1; shift\nname=tfhost$((${host##*.} - 1))\n'
                           'exec ip netns exec $name unshare --uts sh -c "hostname $name; $*"\n')
            os.chmod(agent, 0o755)
            cores = sorted(os.sched_getaffinity(0))
            shares = [cores[: max(1, len(cores) // 2)], cores[len(cores) // 2:]]
            on_core = os.path.join(folder, "on_core")
            with open(on_core, "w") as file:
                file.write("#!/bin/sh\ncase $OMPI_COMM_WORLD_RANK in\n" + "".join(
                    "%d) cores=%s ;;\n" % (rank, ",".join(map(str, share))) for rank, share in enumerate(shares)) +
                    'esac\nexec taskset -c $cores "$@"\n')
            os.chmod(on_core, 0o755)
            network = "10.77.0.0/24"
            command = ["ip", "netns", "exec", "tfhost0", "unshare", "--uts", "sh", "-c", 'hostname tfhost0; exec "$@"',
                       "sh", "mpirun", "--allow-run-as-root", "-H", ",".join(host.address + ":1" for host in hosts),
                       "--bind-to", "none", "--mca", "plm_rsh_agent", agent, "--mca", "btl", "tcp,self", "--mca", "pml",
                       "ob1", "--mca", "btl_tcp_if_include", network, "--mca", "oob_tcp_if_include", network, on_core]
            result = subprocess.run(command + arguments.command).returncode
    finally:
        stop.set()
        if len(hosts) == 2:
            thread.join()
        for host in hosts:
            host.remove()
    return result


if __name__ == "__main__":
    sys.exit(main())
