# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Each request opcode after each request opcode: RC and UC. Single ones: UD.

The oracle is the rule itself: a message of several packets is FIRST, MIDDLE...,
LAST of one operation; FIRST, ONLY, READ and atomics begin when none is open.
"""
import roce
from target import MTU, Wrong, pattern

from . import case

RC_REQUESTS = list(range(13)) + [roce.CMP_SWAP, roce.FETCH_ADD,
                                 roce.SEND_LAST_INV, roce.SEND_ONLY_INV]
UC_REQUESTS = list(range(12))


def operation(op):
    """S, W or - (READ, atomics)."""
    if op in (roce.SEND_LAST_INV, roce.SEND_ONLY_INV) or op <= 5:
        return "S"
    return "W" if op <= 11 else "-"


def begins(op):
    return op not in (roce.SEND_MIDDLE, roce.SEND_LAST, roce.SEND_LAST_IMM,
                      roce.WRITE_MIDDLE, roce.WRITE_LAST, roce.WRITE_LAST_IMM,
                      roce.SEND_LAST_INV)


def ends(op):
    return op not in (roce.SEND_FIRST, roce.SEND_MIDDLE, roce.WRITE_FIRST,
                      roce.WRITE_MIDDLE)


def first_of(op):
    return roce.SEND_FIRST if operation(op) == "S" else roce.WRITE_FIRST


def packet(c, op, dmalen, **fields):
    """A packet with @op that is valid except for its position."""
    size = 0 if operation(op) == "-" else 4 if ends(op) else MTU
    return c.tx(op, pattern(size), va=c.mem.addr, rkey=c.mem.rkey,
                dmalen=8 if op == roce.READ_REQUEST else dmalen,
                inv=c.mem.rkey ^ 0x55, **fields)


def dmalen_of(ops):
    """DMA length of a WRITE FIRST or ONLY at the end of @ops."""
    return MTU * sum(not ends(op) for op in ops) + 4


def follows(a, b):
    """Is @b in sequence after @a?"""
    if begins(b):
        return ends(a)
    return not ends(a) and operation(a) == operation(b)


def wanted_answer(c, op, p):
    """Return: the answer to a valid request with AckReq."""
    if op == roce.READ_REQUEST:
        c.expect(roce.READ_ONLY, psn=p.psn)
    elif op in roce.HAS_ATOMIC:
        c.expect(roce.ATOMIC_ACK, psn=p.psn)
    elif op in roce.HAS_INV:
        # in sequence, but the key does not exist, which is another case's
        answer = c.expect(roce.ACK, psn=p.psn)
        if (answer.syndrome != roce.NAK_ACCESS if c.rig.is_softhca else
                answer.syndrome in (roce.NAK_INVALID, roce.NAK_SEQ)):
            raise Wrong(f"answered by {answer}")
    else:
        c.expect_ack(p.psn)


def rc_pair(rig, a, b):
    c = rig.conn(state="RTR", recv_wr=4)
    for _ in range(3):
        c.post_recv()
    ops = [] if begins(a) else [first_of(a)]
    ops.append(a)
    legal = follows(a, b)
    if legal and not begins(b):
        # LAST or MIDDLE belong to what is open: all of it has that length
        length = dmalen_of(ops + ([b] if not ends(b) else []))
    else:
        length = dmalen_of(ops[:-1] if ends(a) else ops)
    for op in ops[:-1]:
        packet(c, op, length)
    p = packet(c, a, length, ackreq=ends(a))
    if ends(a):
        wanted_answer(c, a, p)
        if a in roce.HAS_INV:
            return  # over: the QP is in error
    p = packet(c, b, dmalen_of([b] if not ends(b) else []), ackreq=1)
    if legal:
        wanted_answer(c, b, p)
    else:
        c.expect_nak(roce.NAK_INVALID, p.psn)


@case("resp.opcode_after", "IBTA 9.7.4.1.2: an opcode that does not follow the "
      "one before draws NAK invalid request; each after each", table={
          roce.NAMES[a].lower(): a for a in RC_REQUESTS})
def rc_row(rig, a):
    wrong = []
    for b in RC_REQUESTS:
        try:
            rc_pair(rig, a, b)
        except Wrong as error:
            wrong.append(f"{roce.NAMES[b]}: {error}")
        finally:
            rig.close()
    if wrong:
        raise Wrong(f"{len(wrong)} of {len(RC_REQUESTS)}: {'; '.join(wrong)}")


@case("resp.opcode_first", "IBTA 9.7.4.1.2: a MIDDLE or LAST as the first "
      "packet of a QP draws NAK invalid request", table={
          roce.NAMES[b].lower(): b for b in RC_REQUESTS if not begins(b)})
def rc_first(rig, b):
    c = rig.conn(state="RTR")
    c.post_recv(wr_id=1)
    p = packet(c, b, 0, ackreq=1)
    c.expect_nak(roce.NAK_INVALID, p.psn)


# ---- UC -------------------------------------------------------------------------


class UcModel:
    """A model of a UC responder's completions, by IBTA 9.8.2."""

    def __init__(self):
        self.open, self.size = None, 0

    def packet(self, op):
        """Byte length of the receive completion that follows, or None."""
        size = 4 if ends(op) else MTU
        if begins(op):
            self.open, self.size = operation(op), 0
        elif self.open != operation(op):
            self.open = None
            return None
        self.size += size
        if not ends(op):
            return None
        done, self.open = self.open, None
        if done == "S" or op in roce.HAS_IMM:
            return self.size
        return None


def uc_pair(rig, c, a, b):
    model = UcModel()
    ops = [] if begins(a) else [first_of(a)]
    ops += [a, b]
    legal = follows(a, b) and not begins(b)
    length = dmalen_of(ops if not ends(b) else ops[:-1]) if legal else \
        dmalen_of(ops[:-1] if not ends(a) else ops[:-2])
    wanted = []
    for i, op in enumerate(ops):
        last = i == len(ops) - 1
        size = length if not last or legal else dmalen_of(
            [op] if not ends(op) else [])
        packet(c, op, size)
        done = model.packet(op)
        if done is not None:
            wanted.append(done)
    c.tx(roce.SEND_ONLY_IMM, b"marker", imm=1)
    wanted.append(6)
    got = []
    while not got or got[-1] != 6:
        got.append(c.recv_wc().byte_len)
        c.post_recv()
    if got != wanted:
        raise Wrong(f"completions of {got} bytes, not {wanted}")


@case("uc.opcode_after", "IBTA 9.8.2: an opcode that does not follow drops the "
      "message that it breaks, not the one that it begins; each after each",
      table={roce.NAMES[a].lower(): a for a in UC_REQUESTS})
def uc_row(rig, a):
    wrong = []
    c = rig.conn("UC")
    for _ in range(8):
        c.post_recv()
    for b in UC_REQUESTS:
        try:
            uc_pair(rig, c, a, b)
        except Wrong as error:
            wrong.append(f"{roce.NAMES[b]}: {error}")
            rig.close()
            c = rig.conn("UC")
            for _ in range(8):
                c.post_recv()
    c.expect_silence(0)
    if wrong:
        raise Wrong(f"{len(wrong)} of {len(UC_REQUESTS)}: {'; '.join(wrong)}")


# ---- every opcode -----------------------------------------------------------------


@case("ud.each_opcode", "IBTA 9.8.3: UD knows SEND Only, with immediate data or "
      "without; every other opcode is dropped")
def ud_opcodes(rig):
    c = rig.conn("UD")
    for i in range(4):
        c.post_recv(wr_id=i)
    accepted = {roce.UD | roce.SEND_ONLY, roce.UD | roce.SEND_ONLY_IMM}
    head = roce.Packet(roce.UD | roce.SEND_ONLY, qkey=c.attr["qkey"], sqpn=9)
    for op in range(256):
        if op in accepted:
            continue
        c.raw(roce.Packet(op, dqpn=c.qpn, ext=head.headers(), data=bytes(32)))
    for op in sorted(accepted):
        c.tx(op, b"1234", qkey=c.attr["qkey"], sqpn=9)
    c.recv_wc(0, byte_len=44)
    c.recv_wc(1, byte_len=44)
    c.no_wc(rig.quiet)
    c.expect_silence(0)


@case("uc.each_opcode", "IBTA 9.8.2: opcodes that are not UC's are dropped")
def uc_opcodes(rig):
    c = rig.conn("UC")
    c.post_recv(wr_id=1)
    for op in range(256):
        if op & 0xe0 == roce.UC and op & 0x1f in UC_REQUESTS:
            continue
        c.raw(roce.Packet(op, dqpn=c.qpn, psn=c.psn, ext=bytes(40)))
    c.tx(roce.SEND_ONLY, b"1234")
    c.recv_wc(1, byte_len=4)
    c.no_wc(rig.quiet)
    c.expect_silence(0)


@case("resp.each_opcode_of_others", "IBTA 9.6: opcodes of other transports are "
      "dropped without an answer")
def rc_opcodes(rig):
    c = rig.conn()
    c.post_recv(wr_id=1)
    for op in range(0x20, 256):
        c.raw(roce.Packet(op, dqpn=c.qpn, psn=c.psn, ackreq=1, ext=bytes(40)))
    p = c.send(b"1234")
    c.expect_ack(p.psn, msn=1)
    c.recv_wc(1, byte_len=4)


