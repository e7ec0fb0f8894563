# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Writes a recording as `softhca trace record` does, for tests of what reads and draws them."""

import struct

PAGE = 4096
OPS = {"RC_SEND_FIRST": 0, "RC_SEND_MIDDLE": 1, "RC_SEND_LAST": 2, "RC_SEND_ONLY": 4, "RC_WRITE_FIRST": 6,
       "RC_WRITE_MIDDLE": 7, "RC_WRITE_LAST": 8, "RC_WRITE_ONLY": 10, "RC_ACK": 17, "UD_SEND_ONLY": 100}
VERDICTS = {"ok": 0, "duplicate": 2, "out-of-sequence": 3, "rnr": 4, "nak-sequence": 9, "nak-rnr": 10}
STATES = {"RESET": 0, "INIT": 1, "RTR": 2, "RTS": 3, "ERR": 6}
WORKS = {"SEND": 2, "RDMA_WRITE": 0}
SIGNALED = 2


def symbols(field, values):
    rows = ", ".join(f'{{ {value}, "{name}" }}' for name, value in values.items())
    return f"__print_symbolic(REC->{field}, {rows})"


DEV = ("u32", "dev_index")
packet = ([("u32", "qpn"), ("u32", "dqpn"), ("u32", "psn"), ("u8", "opcode"), ("bool", "ackreq"), ("u8", "syndrome"),
           ("u32", "msn"), ("u32", "paylen"), ("u32", "packets"), DEV],
          '"qpn=%#x dqpn=%#x psn=%u opcode=%s ackreq=%d syndrome=%#x msn=%u len=%u packets=%u", REC->qpn, REC->dqpn, '
          f"REC->psn, {symbols('opcode', OPS)}, REC->ackreq, REC->syndrome, REC->msn, REC->paylen, REC->packets")
STATUSES = {"SUCCESS": 0, "RETRY_EXC_ERR": 12, "WR_FLUSH_ERR": 5}
events = {
    "shca_post": ([("u32", "qpn"), ("u64", "wr_id"), ("u8", "opcode"), ("u16", "flags"), ("u32", "length"), ("u8", "preset"), DEV],
                  '"qpn=%#x wr_id=%#llx opcode=%s flags=%#x length=%u preset=%s", REC->qpn, REC->wr_id, '
                  f"{symbols('opcode', WORKS)}, REC->flags, REC->length, "
                  f"{symbols('preset', {'SUCCESS': 0})}"),
    "shca_tx": packet, "shca_rx": packet,
    "shca_rx_verdict": ([("u32", "qpn"), ("u32", "psn"), ("u8", "opcode"), ("u8", "verdict"), DEV],
                        '"qpn=%#x psn=%u opcode=%s verdict=%s", REC->qpn, REC->psn, '
                        f"{symbols('opcode', OPS)}, {symbols('verdict', VERDICTS)}"),
    "shca_timeout": ([("u32", "qpn"), ("u32", "psn"), ("u8", "retries"), ("bool", "failed"), DEV],
                     '"qpn=%#x psn=%u retries_left=%u failed=%d", REC->qpn, REC->psn, REC->retries, REC->failed'),
    "shca_complete": ([("u32", "qpn"), ("u64", "wr_id"), ("u8", "status"), ("u8", "opcode"), ("u16", "vendor_err"),
                       ("u32", "byte_len"), DEV],
                      '"qpn=%#x wr_id=%#llx status=%s opcode=%s vendor_err=%u byte_len=%u", REC->qpn, REC->wr_id, '
                      f"{symbols('status', STATUSES)}, {symbols('opcode', {'SEND': 0, 'RDMA_WRITE': 1, 'RECV': 128})}, "
                      "REC->vendor_err, REC->byte_len"),
    "shca_fault": ([("u32", "qpn"), ("u32", "rule"), ("u64", "hit"), ("u64", "wr_id"), ("u32", "psn"), ("u8", "what"),
                    ("u8", "opcode"), DEV],
                   f'"qpn=%#x rule=%u what=%s hit=%llu psn=%u opcode=%s wr_id=%#llx", REC->qpn, REC->rule, '
                   f"{symbols('what', {'drop': 1})}, REC->hit, REC->psn, {symbols('opcode', OPS)}, REC->wr_id"),
    "shca_state": ([("u32", "qpn"), ("u8", "from"), ("u8", "to"), ("char64", "dev"), DEV],
                   f'"qpn=%#x from=%s to=%s dev=%s", REC->qpn, {symbols("from", STATES)}, {symbols("to", STATES)}, REC->dev'),
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


class Recording:
    """Events of one CPU. Each is @delta nanoseconds after the one before."""

    def __init__(self):
        self.pages, self.data = [], b""
        self.now = self.start = 5_000_000_000

    def flush(self):
        if self.data:
            self.pages.append((struct.pack("<QQ", self.start, len(self.data)) + self.data).ljust(PAGE, b"\0"))
        self.data = b""

    def wait(self, ns):
        self.now += ns
        self.flush()

    def emit(self, name, delta, **values):
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
        if len(self.data) + 4 + len(body) > PAGE - 16 or delta >= 1 << 27:
            self.flush()
        self.now += delta
        if not self.data:
            self.start, delta = self.now, 0
        self.data += struct.pack("<I", head | delta << 5) + body

    def state(self, qpn, device, old, new, dev=0):
        self.emit("shca_state", 20000, qpn=qpn, **{"from": STATES[old]}, to=STATES[new], dev=device, dev_index=dev)

    def post(self, qpn, wr_id, work="SEND", length=0, signaled=True, dev=0, delta=2500):
        self.emit("shca_post", delta, qpn=qpn, wr_id=wr_id, opcode=WORKS[work], flags=SIGNALED if signaled else 0,
                  length=length, dev_index=dev)

    def complete(self, qpn, wr_id, code=0, status="SUCCESS", length=0, dev=0, delta=300):
        self.emit("shca_complete", delta, qpn=qpn, wr_id=wr_id, opcode=code, status=STATUSES[status], byte_len=length,
                  dev_index=dev)

    def tx(self, qpn, peer, op, psn, delta=900, syndrome=0, msn=0, length=0, ack=0, dev=0):
        self.emit("shca_tx", delta, qpn=qpn, dqpn=peer, psn=psn & 0xffffff, opcode=OPS[op], ackreq=ack,
                  syndrome=syndrome, msn=msn, paylen=length, packets=1, dev_index=dev)

    def rx(self, qpn, op, psn, verdict="ok", delta=1400, syndrome=0, msn=0, length=0, ack=0, dev=0):
        self.emit("shca_rx", delta, qpn=qpn, dqpn=qpn, psn=psn & 0xffffff, opcode=OPS[op], ackreq=ack,
                  syndrome=syndrome, msn=msn, paylen=length, packets=1, dev_index=dev)
        self.emit("shca_rx_verdict", 350, qpn=qpn, psn=psn & 0xffffff, opcode=OPS[op], verdict=VERDICTS[verdict],
                  dev_index=dev)

    def timeout(self, qpn, psn):
        self.emit("shca_timeout", 100, qpn=qpn, psn=psn & 0xffffff, retries=6)

    def fault(self, qpn, op, psn, dev=0, delta=200):
        self.emit("shca_fault", delta, qpn=qpn, rule=1, what=1, hit=1, psn=psn & 0xffffff, opcode=OPS[op], dev_index=dev)

    def write(self, path):
        self.flush()
        out = b"\x17\x08\x44tracing6\0" + b"\0\x08" + struct.pack("<I", PAGE)
        for title, text in (b"header_page", header_page), (b"header_event", header_event):
            out += title + b"\0" + struct.pack("<Q", len(text)) + text
        out += struct.pack("<I", 0) + struct.pack("<I", 1) + b"softhca\0" + struct.pack("<I", len(events))
        for name, number in numbers.items():
            text = fmt(name, number)
            out += struct.pack("<Q", len(text)) + text
        names = b"4242 pingpong\n"
        out += struct.pack("<II", 0, 0) + struct.pack("<Q", len(names)) + names + struct.pack("<I", 1)
        out += b"options  \0" + struct.pack("<H", 0) + b"flyrecord\0"
        begin = -(-(len(out) + 16) // PAGE) * PAGE
        out += struct.pack("<QQ", begin, PAGE * len(self.pages))
        with open(path, "wb") as file:
            file.write(out.ljust(begin, b"\0") + b"".join(self.pages))


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
