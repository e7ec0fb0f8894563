// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The texts of `softhca explain`: for each kind of error what has happened, what
 * usually causes it and where to look. tests/guest/ops/explain.sh provokes them.
 */
#include "explain.h"

#include <softhca-abi.h>

/* Numbers of enum ibv_wc_status */
enum {
	LOC_LEN_ERR = 1,
	LOC_QP_OP_ERR = 2,
	LOC_PROT_ERR = 4,
	MW_BIND_ERR = 6,
	BAD_RESP_ERR = 7,
	LOC_ACCESS_ERR = 8,
	REM_INV_REQ_ERR = 9,
	REM_ACCESS_ERR = 10,
	REM_OP_ERR = 11,
	RETRY_EXC_ERR = 12,
	RNR_RETRY_EXC_ERR = 13,
	REM_ABORT_ERR = 16,
};

#define ANY	0xffff

/* rows of one kind of error; the first that fits counts */
struct row {
	unsigned int key;	/* status or reason */
	unsigned int check;	/* SHCA_VERR_*, or ANY */
	struct explanation text;
};

/* ---- requests that completed with an error --------------------------------------- */

static const struct row send_rows[] = {
	{ LOC_LEN_ERR, ANY, {
		"The message is longer than this queue pair can send, or the answer than the buffer.",
		"UD: the message is longer than the path MTU, and UD sends one packet\n"
		"RC: the message is longer than 2 GiB",
		"ibv_devinfo shows active_mtu" } },
	{ LOC_QP_OP_ERR, ANY, {
		"The send request is malformed, or this queue pair cannot execute it.",
		"the opcode is not one of the queue pair's transport (UD has SEND only, UC no READ)\n"
		"a READ or an atomic where max_rd_atomic is 0\n"
		"more segments or inline data than the queue pair was created with\n"
		"UD: the address handle is destroyed, or of another protection domain",
		"docs/verbs.md has the operations of each transport" } },
	{ LOC_PROT_ERR, SHCA_VERR_KEY, {
		"The lkey of a segment is not one of a memory region of this protection domain.",
		"the region was deregistered before the request completed\n"
		"the region belongs to another protection domain than the queue pair\n"
		"the rkey was used in place of the lkey, or sge.lkey was not set",
		"rdma resource show mr" } },
	{ LOC_PROT_ERR, SHCA_VERR_ACCESS, {
		"The memory region of a segment does not have the rights that the request needs.",
		"a READ or an atomic writes its result, and the region lacks IBV_ACCESS_LOCAL_WRITE",
		"the access flags of ibv_reg_mr()" } },
	{ LOC_PROT_ERR, SHCA_VERR_RANGE, {
		"A segment is not wholly inside of its memory region.",
		"the address or the length of the segment is wrong\n"
		"the address is that of another buffer than the lkey's\n"
		"the segment has the length 0 in a structure that was not cleared",
		"the addr and length of ibv_reg_mr() and of the segment" } },
	{ LOC_PROT_ERR, ANY, {
		"The queue pair cannot read or write the memory of the request.",
		"the process has unmapped the memory after it registered it on demand",
		"the lkey, address and length of the segments" } },
	{ MW_BIND_ERR, ANY, {
		"The memory window cannot be bound.",
		"the region lacks IBV_ACCESS_MW_BIND, or IBV_ACCESS_LOCAL_WRITE where the window may be written\n"
		"the window is outside of the region, or of another protection domain",
		"the access flags of ibv_reg_mr()" } },
	{ BAD_RESP_ERR, ANY, {
		"The peer answered with a packet that cannot be an answer to the request.",
		"the peer's queue pair was made anew meanwhile, with the same number\n"
		"the ends have different path MTUs, so that a READ's answer has the wrong length",
		"path_mtu at both ends (ibv_query_qp)" } },
	{ LOC_ACCESS_ERR, ANY, {
		"The request's own memory region does not allow what the request does.",
		"the region lacks the right, or was invalidated",
		"the access flags of ibv_reg_mr()" } },
	{ REM_INV_REQ_ERR, ANY, {
		"The peer refused the request as invalid.",
		"the ends have different path MTUs: only messages of one packet pass\n"
		"the message is longer than the receive buffer at the peer\n"
		"the peer's queue pair lacks the right in qp_access_flags (IBV_ACCESS_REMOTE_WRITE, _READ, _ATOMIC)\n"
		"more READs and atomics at once than the peer's max_dest_rd_atomic; it must be at least this end's max_rd_atomic\n"
		"an atomic whose remote address is no multiple of 8",
		"'softhca explain' on the peer's machine tells what the peer saw\n"
		"path_mtu, qp_access_flags and max_dest_rd_atomic at the peer (ibv_query_qp)" } },
	{ REM_ACCESS_ERR, ANY, {
		"The peer refused access to its memory.",
		"the rkey is wrong: sent before the region was registered, of a region that is gone, or in the wrong byte order\n"
		"the region was registered without IBV_ACCESS_REMOTE_WRITE, _READ or _ATOMIC\n"
		"the remote address, or address plus length, is outside of the region\n"
		"the region belongs to another protection domain than the peer's queue pair",
		"'softhca explain' on the peer's machine tells which check failed\n"
		"rkey, remote_addr and length of the request, and what the peer registered" } },
	{ REM_OP_ERR, ANY, {
		"The peer could not execute the request for a reason of its own.",
		"the peer's receive buffer is not in its memory region (its completion there has LOC_PROT_ERR)\n"
		"the peer's completion queue is full\n"
		"the SRQ of an XRC request does not exist",
		"'softhca explain' on the peer's machine\n"
		"the peer's completions" } },
	{ RETRY_EXC_ERR, SHCA_VERR_SEQ_NAK, {
		"The peer asked again and again for packets that were lost; the retries are used up.",
		"the network loses many packets: a full queue, a small buffer, a wrong MTU on the path\n"
		"retry_cnt is too small for this network (7 is the most)",
		"packet_seq_err and out_of_sequence in /sys/class/infiniband/DEVICE/ports/1/hw_counters\n"
		"tc -s qdisc; ethtool -S, for drops" } },
	{ RETRY_EXC_ERR, ANY, {
		"The peer did not answer, and the retries are used up.",
		"a firewall drops UDP port 4791, at this end, the other, or between them\n"
		"the peer's queue pair is gone, has another number, or is not in RTR yet\n"
		"the peer's GID index is of another address than this end sends to, or there is no route back\n"
		"large packets are lost: the MTU of the way is smaller than the path MTU\n"
		"the peer's process or machine has ended, or timeout is too short",
		"softhca doctor, at both ends\n"
		"'softhca explain' on the peer's machine: it names packets that it dropped\n"
		"tcpdump -ni NETDEV udp port 4791, at both ends; ping -M do -s 1472 PEER" } },
	{ RNR_RETRY_EXC_ERR, ANY, {
		"The peer had no receive request for this message, and the retries for that are used up.",
		"the peer posts too few receive requests, or posts them too late: they must be there before the message\n"
		"the peer polls its completions too slowly to post again\n"
		"rnr_retry is too small; 7 means for ever",
		"out_of_buffer in hw_counters at the peer\n"
		"rq_posted in 'rdma resource show qp -dd' at the peer" } },
	{}
};

static const struct row recv_rows[] = {
	{ LOC_LEN_ERR, ANY, {
		"A message is longer than the receive buffer.",
		"the receive request is shorter than the peer's message\n"
		"UD: the buffer lacks room for the 40 bytes of the GRH before the message",
		"the length of the segments of ibv_post_recv()" } },
	{ LOC_QP_OP_ERR, ANY, {
		"The peer's request was invalid, or the receive request is malformed.",
		"the ends have different path MTUs\n"
		"more segments than the queue pair was created with",
		"path_mtu at both ends (ibv_query_qp)" } },
	{ LOC_PROT_ERR, SHCA_VERR_KEY, {
		"The lkey of a receive buffer is not one of a memory region of this protection domain.",
		"the region was deregistered while the receive request was posted\n"
		"sge.lkey was not set, or is of another protection domain",
		"rdma resource show mr" } },
	{ LOC_PROT_ERR, SHCA_VERR_ACCESS, {
		"The memory region of a receive buffer may not be written.",
		"it was registered without IBV_ACCESS_LOCAL_WRITE",
		"the access flags of ibv_reg_mr()" } },
	{ LOC_PROT_ERR, ANY, {
		"A receive buffer is not wholly inside of its memory region.",
		"the address or the length of the segment is wrong",
		"the addr and length of ibv_reg_mr() and of the segment" } },
	{ LOC_ACCESS_ERR, ANY, {
		"The peer's request does not have access to the memory that it names.",
		"the rkey, the address or the length that the peer uses is wrong\n"
		"the region lacks IBV_ACCESS_REMOTE_WRITE",
		"what this end has told the peer" } },
	{ REM_ABORT_ERR, ANY, {
		"The peer ended a message before it was complete.",
		"UC: a packet in the middle of the message was lost",
		"rx_dropped_messages in hw_counters" } },
	{}
};

/* ---- packets that were refused --------------------------------------------------- */

static const struct row reason_rows[] = {
	{ SHCA_REASON_INVALID, ANY, {
		"A request of the peer was invalid, and was refused with a NAK.",
		"the ends have different path MTUs\n"
		"the peer's message is longer than the receive buffer\n"
		"this queue pair lacks the right in qp_access_flags (IBV_ACCESS_REMOTE_WRITE, _READ, _ATOMIC)\n"
		"more READs and atomics at once than max_dest_rd_atomic\n"
		"an atomic whose address is no multiple of 8",
		"path_mtu, qp_access_flags, max_dest_rd_atomic (ibv_query_qp)" } },
	{ SHCA_REASON_ACCESS, SHCA_VERR_KEY, {
		"The rkey of a request of the peer is not one of a memory region of this protection domain.",
		"the peer has an old or a wrong rkey: of a region that is gone, or in the wrong byte order\n"
		"the region belongs to another protection domain than this queue pair\n"
		"the lkey was sent in place of the rkey (they may differ)",
		"rdma resource show mr" } },
	{ SHCA_REASON_ACCESS, SHCA_VERR_ACCESS, {
		"The memory region that a request of the peer names does not allow it.",
		"ibv_reg_mr() was called without IBV_ACCESS_REMOTE_WRITE, _READ or _ATOMIC\n"
		"qp_access_flags of this queue pair lack the right",
		"the access flags of ibv_reg_mr(), and qp_access_flags of ibv_modify_qp()" } },
	{ SHCA_REASON_ACCESS, SHCA_VERR_RANGE, {
		"A request of the peer reaches outside of the memory region that its rkey names.",
		"the remote address is wrong, or in the wrong byte order\n"
		"the address is that of another buffer than the rkey's\n"
		"address plus length is behind the end",
		"the addr and length of ibv_reg_mr(), and what the peer was told" } },
	{ SHCA_REASON_ACCESS, ANY, {
		"A request of the peer was refused access to memory.",
		"the rkey, the rights or the range do not fit the region",
		"rdma resource show mr" } },
	{ SHCA_REASON_OPERATION, ANY, {
		"A request of the peer could not be executed here, for a reason of this end.",
		"a receive buffer is not in its memory region\n"
		"the completion queue is full\n"
		"XRC: there is no such SRQ",
		"the completions of this queue pair" } },
	{ SHCA_REASON_RNR, ANY, {
		"A message of the peer found no receive request. The peer sends it again.",
		"receive requests are posted too late, or too few of them",
		"out_of_buffer in hw_counters; rq_posted in 'rdma resource show qp -dd'" } },
	{ SHCA_REASON_QKEY, ANY, {
		"A datagram with another Q_Key was dropped. Its sender does not learn of that.",
		"the sender's wr.ud.remote_qkey is not the qkey that this queue pair was given in INIT\n"
		"the sender's remote_qkey has its highest bit set: then the Q_Key of the sender's own queue pair is sent",
		"qkey of ibv_query_qp() here; rx_qkey_mismatch in hw_counters" } },
	{ SHCA_REASON_MESSAGE, ANY, {
		"A message was dropped. Its sender does not learn of that.",
		"no receive request was posted when it came\n"
		"UC: a packet of it was lost",
		"rx_dropped_messages and out_of_buffer in hw_counters" } },
	{ SHCA_REASON_STATE, ANY, {
		"A packet came while the queue pair could not receive.",
		"the peer sent before this end was in RTR\n"
		"this end has failed, or was reset, and the peer goes on",
		"the order in which the ends exchange their numbers and go to RTR and RTS" } },
	{ SHCA_REASON_RESPONSE, ANY, {
		"The peer answered with a packet that cannot be an answer to the request.",
		"the peer's queue pair was made anew meanwhile, with the same number",
		"tcpdump -ni NETDEV udp port 4791" } },
	{ SHCA_REASON_PATH, ANY, {
		"A packet came that is not from the peer's address to this end's, and was dropped.",
		"the GID index of one end is of another address than the other end was told\n"
		"the peer's packets leave by another of its addresses\n"
		"somebody else sends to this queue pair's number",
		"sgid_index and dgid at both ends; tcpdump -ni NETDEV udp port 4791" } },
	{ SHCA_REASON_TRANSPORT, ANY, {
		"A packet of another transport came, and was dropped.",
		"the ends have queue pairs of different types (RC, UC, UD)\n"
		"the peer has the number of another queue pair",
		"qp_type at both ends; the queue pair number that the peer was told" } },
	{ SHCA_REASON_ICRC, ANY, {
		"A packet was damaged in the network, and was dropped.",
		"a middlebox changes packets: NAT, a tunnel that is not transparent\n"
		"an adapter or a driver damages data",
		"rx_icrc_errors in hw_counters; tcpdump -w FILE at both ends, and compare" } },
	{ SHCA_REASON_PKEY, ANY, {
		"A packet of another partition came, and was dropped.",
		"the P_Keys at the pkey_index of the two ends do not match\n"
		"both ends are limited members of the partition",
		"softhca dev show, at both ends; pkey_index of ibv_query_qp()" } },
	{}
};

static const struct explanation ring = {
	"The program wrote an index into the queue that cannot be.",
	"a stray write of the program has changed the queue's memory\n"
	"two threads use the queue pair in a way that its thread domain or the locks of libibverbs do not cover",
	"valgrind or -fsanitize=address on the program; malformed_rings in hw_counters",
};

static const struct explanation cq = {
	"A completion found its completion queue full, and was lost.",
	"the completion queue is shorter than all requests that may complete before the program polls\n"
	"the program does not poll",
	"cqe of ibv_create_cq(); cq_overflow in hw_counters",
};

static const struct explanation other = {
	"It failed for a reason that this tool does not know.",
	"the module is newer than this tool",
	"softhca --version",
};

static const struct explanation *find(const struct row *row, unsigned int key,
				      unsigned int check)
{
	for (; row->text.happened; row++)
		if (row->key == key && (row->check == ANY || row->check == check))
			return &row->text;
	return &other;
}

const struct explanation *explain_error(const struct shca_dump_error *error,
					bool sends)
{
	switch (error->what) {
	case SHCA_ERROR_COMPLETION:
		return find(sends ? send_rows : recv_rows, error->status,
			    error->vendor_err);
	case SHCA_ERROR_PACKET:
		return find(reason_rows, error->reason, error->vendor_err);
	case SHCA_ERROR_RING:
		return &ring;
	case SHCA_ERROR_CQ:
		return &cq;
	default:
		return &other;
	}
}

/* ---- states ----------------------------------------------------------------------- */

/* Numbers of enum ibv_qp_state and enum ib_qp_type */
enum { RESET, INIT, RTR, RTS, SQD, SQE, ERR };
enum { TYPE_RC = 2 };

const char *explain_state(const struct shca_dump_fate *fate)
{
	switch (fate->state) {
	case RESET:
		return "It was created, and is not set up: it neither sends nor receives before ibv_modify_qp() to INIT, RTR and RTS.";
	case INIT:
		return "It may post receives, and drops what it receives: ibv_modify_qp() to RTR connects it.";
	case RTR:
		return "It receives, and does not send: that needs ibv_modify_qp() to RTS.";
	case RTS:
		if (fate->flags & SHCA_FATE_RNR_WAIT)
			return "It waits for the peer, which has no receive request posted, and sends again.";
		if (fate->unfinished)
			return "It sends and receives, and has send requests that are not complete.";
		if (fate->type == TYPE_RC && !fate->rq_posted &&
		    !(fate->flags & SHCA_FATE_SRQ))
			return "It sends and receives. No receive request is posted, so a SEND of the peer has to wait.";
		return "It sends and receives.";
	case SQD:
		return "Its send queue is drained: it starts no further request before ibv_modify_qp() to RTS.";
	case SQE:
		return "Its send queue stopped at an error, and it still receives: ibv_modify_qp() to RTS starts it again.";
	case ERR:
		return "It has failed, and flushes all requests: only ibv_modify_qp() to RESET, or a new queue pair, helps.";
	default:
		return "Its state is not known to this tool.";
	}
}

/* ---- counters --------------------------------------------------------------------- */

static const struct {
	const char *name;
	const char *text;
} counters[] = {
	{ "rx_unknown_qp", "packets for queue pairs that do not exist: the peer has a wrong or an old number" },
	{ "rx_qp_not_ready", "packets for queue pairs that could not receive: not in RTR yet, or failed" },
	{ "rx_path_mismatch", "packets from or to another address than the connection's: look at the GID indices" },
	{ "rx_pkey_mismatch", "packets of another partition: look at the P_Keys" },
	{ "rx_qkey_mismatch", "datagrams with another Q_Key" },
	{ "rx_transport_mismatch", "packets of another transport: the ends have queue pairs of different types" },
	{ "rx_icrc_errors", "packets that were damaged in the network" },
	{ "rx_vcrc_errors", "packets that were damaged in the network" },
	{ "tx_no_route", "packets that found no route to the peer" },
	{ "cq_overflow", "completions that found their queue full" },
	{ "malformed_rings", "impossible indices in the queues of programs" },
};

const char *explain_counter(int i, const char **counter)
{
	if (i >= (int)(sizeof(counters) / sizeof(*counters)))
		return NULL;
	*counter = counters[i].name;
	return counters[i].text;
}

/* ---- names ------------------------------------------------------------------------ */

#define NAME(names, i) ((i) < sizeof(names) / sizeof(*(names)) && (names)[i] ? \
			(names)[i] : "?")

const char *status_name(unsigned int status)
{
	static const char *const names[] = {
#define X(id) #id,
		SHCA_WC_STATUSES(X)
#undef X
	};

	return NAME(names, status);
}

const char *wc_opcode_name(unsigned int opcode)
{
	static const char *const names[] = {
		"SEND", "WRITE", "READ", "compare and swap", "fetch and add",
		"bind of a memory window", "invalidation", "TSO", "FLUSH",
		"ATOMIC WRITE", "registration",
	};

	return opcode >= 128 ? "receive" : NAME(names, opcode);
}

const char *reason_name(unsigned int reason)
{
	static const char *const names[] = {
		[SHCA_REASON_INVALID] = "invalid request",
		[SHCA_REASON_ACCESS] = "access",
		[SHCA_REASON_OPERATION] = "operation",
		[SHCA_REASON_RNR] = "receiver not ready",
		[SHCA_REASON_QKEY] = "qkey",
		[SHCA_REASON_MESSAGE] = "message",
		[SHCA_REASON_STATE] = "state",
		[SHCA_REASON_RESPONSE] = "response",
		[SHCA_REASON_PATH] = "path",
		[SHCA_REASON_TRANSPORT] = "transport",
		[SHCA_REASON_ICRC] = "icrc",
		[SHCA_REASON_PKEY] = "pkey",
	};

	return NAME(names, reason);
}

const char *check_name(unsigned int vendor_err)
{
	static const char *const names[] = {
		[SHCA_VERR_NONE] = "none",
		[SHCA_VERR_WQE] = "request",
		[SHCA_VERR_KEY] = "key",
		[SHCA_VERR_ACCESS] = "rights",
		[SHCA_VERR_RANGE] = "range",
		[SHCA_VERR_LENGTH] = "length",
		[SHCA_VERR_TIMEOUT] = "time-out",
		[SHCA_VERR_SEQ_NAK] = "sequence NAK",
		[SHCA_VERR_RNR] = "receiver not ready",
		[SHCA_VERR_NAK] = "NAK",
		[SHCA_VERR_RESPONSE] = "response",
	};

	return NAME(names, vendor_err);
}

const char *packet_name(unsigned int opcode)
{
	static const char *const names[32] = {
		"SEND", "SEND", "SEND", "SEND", "SEND", "SEND", "WRITE",
		"WRITE", "WRITE", "WRITE", "WRITE", "WRITE", "READ request",
		"READ response", "READ response", "READ response",
		"READ response", "ACK", "atomic response", "compare and swap",
		"fetch and add", NULL, "SEND", "SEND", NULL, NULL, NULL, NULL,
		"FLUSH", "ATOMIC WRITE",
	};

	return opcode == 0x81 ? "CNP" : NAME(names, opcode & 31);
}

const char *qp_type_name(unsigned int type)
{
	static const char *const names[] = {
		[1] = "GSI", [2] = "RC", [3] = "UC", [4] = "UD",
		[8] = "RAW_PACKET", [9] = "XRC_INI", [10] = "XRC_TGT",
	};

	return NAME(names, type);
}

const char *qp_state_name(unsigned int state)
{
	static const char *const names[] = {
		"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR",
	};

	return NAME(names, state);
}
