#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Writes a recording with as many events as wanted, for a test of what reads and draws them.

  sample.py MESSAGES FILE      a trace.dat; each message has 10 events or more

The traffic is RC SENDs and WRITEs of three packets between shca0 and shca1. Every 37th packet is
lost and sent again after a sequence NAK or a time-out, and every 50th SEND finds no receive.
"""

import struct
import sys

page_size = 4096
ops = {"RC_SEND_FIRST": 0, "RC_SEND_MIDDLE": 1, "RC_SEND_LAST": 2, "RC_SEND_ONLY": 4, "RC_WRITE_FIRST": 6,
       "RC_WRITE_MIDDLE": 7, "RC_WRITE_LAST": 8, "RC_ACK": 17}
verdicts = {"ok": 0, "out-of-sequence": 3, "rnr": 4, "nak-sequence": 9, "nak-rnr": 10}
states = {"RESET": 0, "INIT": 1, "RTR": 2, "RTS": 3}


def symbols(field, values):
    rows = ", ".join(f'{{ {value}, "{name}" }}' for name, value in values.items())
    return f"__print_symbolic(REC->{field}, {rows})"


packet = ([("u32", "qpn"), ("u32", "dqpn"), ("u32", "psn"), ("u8", "opcode"), ("bool", "ackreq"), ("u8", "syndrome"),
           ("u32", "msn"), ("u32", "paylen"), ("u32", "packets")],
          '"qpn=%#x dqpn=%#x psn=%u opcode=%s ackreq=%d syndrome=%#x msn=%u len=%u packets=%u", REC->qpn, REC->dqpn, '
          f"REC->psn, {symbols('opcode', ops)}, REC->ackreq, REC->syndrome, REC->msn, REC->paylen, REC->packets")
events = {
    "shca_post": ([("u32", "qpn"), ("u64", "wr_id"), ("u8", "opcode"), ("u16", "flags"), ("u32", "length"), ("u8", "preset")],
                  '"qpn=%#x wr_id=%#llx opcode=%s flags=%#x length=%u preset=%s", REC->qpn, REC->wr_id, '
                  f"{symbols('opcode', {'SEND': 2, 'RDMA_WRITE': 0})}, REC->flags, REC->length, "
                  f"{symbols('preset', {'SUCCESS': 0})}"),
    "shca_tx": packet, "shca_rx": packet,
    "shca_rx_verdict": ([("u32", "qpn"), ("u32", "psn"), ("u8", "opcode"), ("u8", "verdict")],
                        '"qpn=%#x psn=%u opcode=%s verdict=%s", REC->qpn, REC->psn, '
                        f"{symbols('opcode', ops)}, {symbols('verdict', verdicts)}"),
    "shca_timeout": ([("u32", "qpn"), ("u32", "psn"), ("u8", "retries"), ("bool", "failed")],
                     '"qpn=%#x psn=%u retries_left=%u failed=%d", REC->qpn, REC->psn, REC->retries, REC->failed'),
    "shca_complete": ([("u32", "qpn"), ("u64", "wr_id"), ("u8", "status"), ("u8", "opcode"), ("u16", "vendor_err"),
                       ("u32", "byte_len")],
                      '"qpn=%#x wr_id=%#llx status=%s opcode=%s vendor_err=%u byte_len=%u", REC->qpn, REC->wr_id, '
                      f"{symbols('status', {'SUCCESS': 0})}, {symbols('opcode', {'SEND': 0, 'RDMA_WRITE': 1, 'RECV': 128})}, "
                      "REC->vendor_err, REC->byte_len"),
    "shca_state": ([("u32", "qpn"), ("u8", "from"), ("u8", "to"), ("char64", "dev")],
                   f'"qpn=%#x from=%s to=%s dev=%s", REC->qpn, {symbols("from", states)}, {symbols("to", states)}, REC->dev'),
}
sizes = {"u8": 1, "bool": 1, "u16": 2, "u32": 4, "u64": 8, "char64": 64}
common = [("unsigned short", "common_type", 2, 0), ("unsigned char", "common_flags", 2, 2),
          ("unsigned char", "common_preempt_count", 1, 3), ("int", "common_pid", 4, 4)]


def layout(fields):
    at, rows = 8, []
    for kind, name in fields:
        align = 1 if kind == "char64" else sizes[kind]
        at = -(-at // align) * align
        rows.append((kind, name, at))
        at += sizes[kind]
    return rows, -(-at // 4) * 4


def fmt(name, number):
    fields, text = events[name]
    out = f"name: {name}\nID: {number}\nformat:\n"
    out += "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    out += "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    out += "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
    out += "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
    for kind, field, at in layout(fields)[0]:
        declared = f"char {field}[64]" if kind == "char64" else f"{kind} {field}"
        out += f"\tfield:{declared};\toffset:{at};\tsize:{sizes[kind]};\tsigned:0;\n"
    return (out + f"\nprint fmt: {text}\n").encode()


numbers = {name: 1000 + i for i, name in enumerate(events)}
layouts = {name: layout(fields) for name, (fields, _) in events.items()}
pages, data, now, start = [], b"", 5_000_000_000, 5_000_000_000


def flush():
    global data
    if data:
        pages.append((struct.pack("<QQ", start, len(data)) + data).ljust(page_size, b"\0"))
    data = b""


def emit(name, delta, **values):
    """An event, @delta nanoseconds after the one before"""
    global data, now, start
    rows, size = layouts[name]
    body = bytearray(size)
    struct.pack_into("<HBBi", body, 0, numbers[name], 0, 0, 4242)
    for kind, field, at in rows:
        value = values.get(field, 0)
        if kind == "char64":
            body[at:at + len(value)] = value.encode()
        else:
            struct.pack_into({1: "<B", 2: "<H", 4: "<I", 8: "<Q"}[sizes[kind]], body, at, value)
    if size // 4 > 28:
        head, body = 0, struct.pack("<I", size + 4) + bytes(body)
    else:
        head, body = size // 4, bytes(body)
    if len(data) + 4 + len(body) > page_size - 16 or delta >= 1 << 27:
        flush()
    now += delta
    if not data:
        start, delta = now, 0
    data += struct.pack("<I", head | delta << 5) + body


def wait(ns):
    global now
    flush()
    now += ns


a, b = 0x2af31, 0x77c02
mtu, psn, sent, nr_lost = 1024, 0xfffe00, 0, 0


def tx(qpn, peer, op, number, delta=900, syndrome=0, msn=0, length=0, ack=0):
    emit("shca_tx", delta, qpn=qpn, dqpn=peer, psn=number & 0xffffff, opcode=ops[op], ackreq=ack, syndrome=syndrome,
         msn=msn, paylen=length, packets=1)


def rx(qpn, op, number, verdict="ok", delta=1400, syndrome=0, msn=0, length=0):
    emit("shca_rx", delta, qpn=qpn, dqpn=qpn, psn=number & 0xffffff, opcode=ops[op], syndrome=syndrome, msn=msn,
         paylen=length, packets=1)
    emit("shca_rx_verdict", 350, qpn=qpn, psn=number & 0xffffff, opcode=ops[op], verdict=verdicts[verdict])


def answer(number, syndrome, msn, verdict="ok"):
    tx(b, a, "RC_ACK", number, syndrome=syndrome, msn=msn)
    rx(a, "RC_ACK", number, verdict, syndrome=syndrome, msn=msn)


for qpn, device in (a, "shca0"), (b, "shca1"):
    for old, new in ("RESET", "INIT"), ("INIT", "RTR"), ("RTR", "RTS"):
        emit("shca_state", 20000, qpn=qpn, **{"from": states[old]}, to=states[new], dev=device)
for message in range(int(sys.argv[1])):
    send = message % 2 == 0
    kind = "RC_SEND_" if send else "RC_WRITE_"
    emit("shca_post", 2500, qpn=a, wr_id=message, opcode=2 if send else 0, flags=2, length=3 * mtu)
    parts = [kind + place for place in ("FIRST", "MIDDLE", "LAST")]
    if send and message % 50 == 20:
        tx(a, b, parts[0], psn, length=mtu)
        rx(b, parts[0], psn, "rnr", length=mtu)
        answer(psn, 0x21, message & 0xffffff, "nak-rnr")
        wait(640_000)
    lost = None
    for k, op in enumerate(parts):
        sent += 1
        tx(a, b, op, psn + k, length=mtu, ack=k == 2)
        if sent % 37 == 0 and lost is None:
            lost = k
            nr_lost += 1
        elif lost is None:
            rx(b, op, psn + k, length=mtu)
        else:
            rx(b, op, psn + k, "out-of-sequence", length=mtu)
            if k == lost + 1:
                answer(psn + lost, 0x60, message & 0xffffff, "nak-sequence")
    if lost is not None:
        if lost == 2:
            wait(4_000_000)
            emit("shca_timeout", 100, qpn=a, psn=(psn + lost) & 0xffffff, retries=6)
        for k in range(lost, 3):
            tx(a, b, parts[k], psn + k, length=mtu, ack=k == 2)
            rx(b, parts[k], psn + k, length=mtu)
    if send:
        emit("shca_complete", 400, qpn=b, wr_id=0x8000 + message, opcode=128, byte_len=3 * mtu)
    answer(psn + 2, 0x1f, message + 1 & 0xffffff)
    emit("shca_complete", 300, qpn=a, wr_id=message, opcode=0 if send else 1, byte_len=3 * mtu)
    psn += 3
flush()

header_page = b"""\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;
"""
header_event = b"""# compressed entry header
\ttype_len    :    5 bits
\ttime_delta  :   27 bits
\tarray       :   32 bits

\tpadding     : type == 29
\ttime_extend : type == 30
\ttime_stamp : type == 31
\tdata max type_len  == 28
"""
out = b"\x17\x08\x44tracing6\0" + b"\0\x08" + struct.pack("<I", page_size)
for title, text in (b"header_page", header_page), (b"header_event", header_event):
    out += title + b"\0" + struct.pack("<Q", len(text)) + text
out += struct.pack("<I", 0) + struct.pack("<I", 1) + b"softhca\0" + struct.pack("<I", len(events))
for event_name, event_number in numbers.items():
    text = fmt(event_name, event_number)
    out += struct.pack("<Q", len(text)) + text
names = b"4242 pingpong\n"
out += struct.pack("<II", 0, 0) + struct.pack("<Q", len(names)) + names + struct.pack("<I", 1)
out += b"options  \0" + struct.pack("<H", 0) + b"flyrecord\0"
begin = -(-(len(out) + 16) // page_size) * page_size
out += struct.pack("<QQ", begin, page_size * len(pages))
with open(sys.argv[2], "wb") as file:
    file.write(out.ljust(begin, b"\0") + b"".join(pages))
print(nr_lost, "packets are lost")
