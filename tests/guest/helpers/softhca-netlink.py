#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Sends a request of the generic-netlink family softhca that the tool would never send, and
prints the answer. Success is an error with its reason in words.

  softhca-netlink.py [--for SECONDS] COMMAND ATTRIBUTE=HEX...  numbers of uapi/softhca-netlink.h

With --for the request is sent again and again, must succeed, and the last line says how often.

Used by ops/settings.sh, ops/personality.sh and ops/faults.sh.
"""

import socket
import struct
import sys
import time

NETLINK_GENERIC, SOL_NETLINK, NETLINK_EXT_ACK = 16, 270, 11
NLM_F_REQUEST, NLM_F_ACK = 1, 4
# of an answer: the request is not repeated in it; it has attributes
NLM_F_CAPPED, NLM_F_ACK_TLVS = 0x100, 0x200
NLMSG_ERROR, NLMSGERR_ATTR_MSG, NLMSGERR_ATTR_MISS_TYPE, NLA_TYPE_MASK = 2, 1, 5, 0x3fff
GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME = 16, 3, 1, 2


def align(length):
    return (length + 3) & ~3


def attribute(kind, data):
    return struct.pack("HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


def attributes(message, at, length):
    """Yield: kind and data of each attribute from AT on."""
    while at < length:
        size, kind = struct.unpack_from("HH", message, at)
        yield kind & NLA_TYPE_MASK, message[at + 4:at + size]
        at += align(size)


def ask(sock, family, command, body):
    head = struct.pack("IHHII", 20 + len(body), family, NLM_F_REQUEST | NLM_F_ACK, 1, 0)
    sock.send(head + struct.pack("BBH", command, 1, 0) + body)
    return sock.recv(65536)


def find_family(sock, name):
    reply = ask(sock, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, attribute(CTRL_ATTR_FAMILY_NAME, name))
    sock.recv(65536)    # the acknowledgement
    found = dict(attributes(reply, 20, struct.unpack_from("I", reply)[0]))
    return struct.unpack("H", found[CTRL_ATTR_FAMILY_ID])[0]


def error_of(reply):
    """Return: errno and reason of an answer; 0 and no text where it is no error."""
    length, kind, flags = struct.unpack_from("IHH", reply)
    error = -struct.unpack_from("i", reply, 16)[0] if kind == NLMSG_ERROR else 0
    text = ""
    if flags & NLM_F_ACK_TLVS:
        at = 20 + (16 if flags & NLM_F_CAPPED else align(struct.unpack_from("I", reply, 20)[0]))
        for kind, data in attributes(reply, at, length):
            if kind == NLMSGERR_ATTR_MSG:
                text = data.rstrip(b"\0").decode()
            elif kind == NLMSGERR_ATTR_MISS_TYPE:
                text = f"attribute missing: {struct.unpack('I', data)[0]}"
    return error, text


def repeat(sock, family, command, body, seconds):
    end, requests = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        requests += 1
        # (an acknowledgement is an error of number 0; an answer may come before it)
        reply = ask(sock, family, command, body)
        while struct.unpack_from("H", reply, 4)[0] != NLMSG_ERROR:
            reply = sock.recv(65536)
        error, text = error_of(reply)
        if error:
            print("errno", error, "text", repr(text))
            return 1
    print(requests, "requests")
    return 0


def main():
    words, seconds = sys.argv[1:], 0
    if words[0] == "--for":
        seconds, words = float(words[1]), words[2:]
    sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
    sock.setsockopt(SOL_NETLINK, NETLINK_EXT_ACK, 1)
    sock.bind((0, 0))
    family = find_family(sock, b"softhca\0")
    body = b"".join(attribute(int(kind), bytes.fromhex(data))
                    for kind, data in (word.split("=") for word in words[1:]))
    if seconds:
        return repeat(sock, family, int(words[0]), body, seconds)
    error, text = error_of(ask(sock, family, int(words[0]), body))
    print("errno", error, "text", repr(text))
    return 0 if error and text else 1


if __name__ == "__main__":
    sys.exit(main())
