#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""A connection between two InfiniBand ports of one machine goes on while COMMAND happens
to their link: each message arrives, once and whole.

  ib-cable.py DEVICE_A DEVICE_B SECONDS COMMAND...

It ends SECONDS after COMMAND and once both ports are active. Prints a line for each part,
for lib.sh. Used by ib/cable.sh.
"""

import subprocess
import sys
import threading
import time


from ib_ends import SIZE, End, check, connect, e, path, post

# Of the issue: 1.1 to 4.3 s, eight times.
TIMEOUT, RETRIES = 18, 7


class Port:
    def __init__(self, name):
        self.folder = f"/sys/class/infiniband/{name}/ports/1/"
        self.seen = []
        self.watches = True
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def attribute(self, name):
        with open(self.folder + name, encoding="ascii") as file:
            return file.read().strip()

    def watch(self):
        while self.watches:
            state = self.attribute("state").split(": ")[1]
            if self.seen[-1:] != [state]:
                self.seen.append(state)
            time.sleep(0.02)

    def end(self):
        self.watches = False
        self.thread.join()


def message(number):
    return bytes((number * 7 + i) & 0xff for i in range(SIZE))


device_a, device_b, seconds, *command = sys.argv[1:]
a, b = End(device_a), End(device_b)
ports = Port(device_a), Port(device_b)
qp_a, qp_b = a.qp(e.IBV_QPT_RC), b.qp(e.IBV_QPT_RC)
connect(qp_a, qp_b.qp_num, path(0, b, 0), TIMEOUT, RETRIES)
connect(qp_b, qp_a.qp_num, path(0, a, 0), TIMEOUT, RETRIES)
for port in ports:
    port.thread.start()
sent, wrong, longest, happens, until = 0, [], 0, None, None
while until is None or time.monotonic() < until:
    if sent == 100:
        happens = subprocess.Popen(command)
    if until is None and happens and happens.poll() is not None and \
            all(port.seen[-1] == "ACTIVE" for port in ports):
        until = time.monotonic() + float(seconds)
    sent += 1
    a.mr.write(message(sent), SIZE)
    b.receive(qp_b)
    begun = time.monotonic()
    post(a, qp_a)
    done = a.completion(120)
    if done.status == e.IBV_WC_SUCCESS:
        done = b.completion(120)
    longest = max(longest, time.monotonic() - begun)
    if done.status != e.IBV_WC_SUCCESS or b.mr.read(SIZE, 0) != message(sent):
        wrong.append((sent, done.status))
        break
for port in ports:
    port.end()
print(f"# {sent} messages, the longest took {longest:.2f} s;",
      *(" ".join(port.seen) for port in ports), wrong)
check("cable.each_message_arrives", not wrong and sent > 100)
check("cable.command", happens and happens.wait() == 0)
print("# pause", int(longest * 1000))
