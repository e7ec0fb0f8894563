// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Generic netlink with the softhca family: a request, its replies, and the
 * kernel's message if it refuses (extended acknowledgement).
 */
#include "softhca.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/netlink.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

static struct nl_sock *sock;
static int family;

/* state of one request */
struct exchange {
	genl_reply_fn *reply;
	void *arg;
	bool done;
	int error;		/* positive */
	char text[256];		/* the kernel's message, or empty */
};

static const struct nla_policy policy[SHCA_A_MAX + 1] = {
	[SHCA_A_DEV_NAME] = { .type = NLA_STRING },
	[SHCA_A_NETDEV_IFINDEX] = { .type = NLA_U32 },
	[SHCA_A_NETDEV_NAME] = { .type = NLA_STRING },
	[SHCA_A_PATH] = { .type = NLA_U8 },
	[SHCA_A_RESV8A] = { .type = NLA_U8 },
	[SHCA_A_ICRC] = { .type = NLA_U8 },
	[SHCA_A_CC] = { .type = NLA_U8 },
	[SHCA_A_CC_ALGORITHM] = { .type = NLA_U8 },
	[SHCA_A_FAULT] = { .type = NLA_NESTED },
	[SHCA_A_LINT] = { .type = NLA_U8 },
	[SHCA_A_LINT_ERRORS] = { .type = NLA_U32 },
	[SHCA_A_LINT_HINTS] = { .type = NLA_U32 },
	[SHCA_A_PERSONALITY] = { .type = NLA_NESTED },
};

void genl_close(void)
{
	nl_socket_free(sock);
	sock = NULL;
	family = 0;
}

int genl_open(bool quiet)
{
	int on = 1;

	if (family > 0)
		return 0;
	genl_close();
	sock = nl_socket_alloc();
	if (!sock || genl_connect(sock) < 0)
		return quiet ? EXIT_FAILURE : fail("cannot open a netlink socket");
	family = genl_ctrl_resolve(sock, SHCA_GENL_NAME);
	if (family < 0)
		return quiet ? EXIT_FAILURE :
			       fail("the softhca module is not loaded (try 'modprobe softhca')");
	setsockopt(nl_socket_get_fd(sock), SOL_NETLINK, NETLINK_EXT_ACK, &on,
		   sizeof(on));
	return 0;
}

struct nl_msg *genl_request(enum shca_genl_cmd cmd, int flags)
{
	/* Has room for the maximum number of names after 'peer'. */
	struct nl_msg *msg = nlmsg_alloc_size(8192);

	if (!msg || !genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, family, 0,
				 flags | NLM_F_ACK, cmd, SHCA_GENL_VERSION)) {
		fail("out of memory");
		exit(EXIT_FAILURE);
	}
	return msg;
}

static int on_valid(struct nl_msg *msg, void *arg)
{
	static const int names[] = { SHCA_A_DEV_NAME, SHCA_A_NETDEV_NAME };
	struct exchange *x = arg;
	struct nlattr *attrs[SHCA_A_MAX + 1];
	size_t i;

	if (genlmsg_parse(nlmsg_hdr(msg), 0, attrs, SHCA_A_MAX, policy) < 0)
		return NL_SKIP;
	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (attrs[names[i]])
			text_clean(nla_data(attrs[names[i]]));
	if (x->reply)
		x->reply(attrs, x->arg);
	return NL_OK;
}

/* The attributes of an acknowledgement follow the message that it quotes. */
static void read_ext_ack(const struct nlmsghdr *hdr, struct exchange *x)
{
	const struct nlmsgerr *err = nlmsg_data(hdr);
	size_t skip = sizeof(*err);
	struct nlattr *attr;

	if (!(hdr->nlmsg_flags & NLM_F_ACK_TLVS))
		return;
	if (!(hdr->nlmsg_flags & NLM_F_CAPPED))
		skip += NLMSG_ALIGN(err->msg.nlmsg_len) - sizeof(err->msg);
	if (skip > (size_t)nlmsg_datalen(hdr))
		return;
	attr = nla_find((struct nlattr *)((char *)nlmsg_data(hdr) + skip),
			nlmsg_datalen(hdr) - skip, NLMSGERR_ATTR_MSG);
	if (attr)
		nla_strlcpy(x->text, attr, sizeof(x->text));
}

static int on_error(struct sockaddr_nl *from, struct nlmsgerr *err, void *arg)
{
	const struct nlmsghdr *hdr =
		(const struct nlmsghdr *)((char *)err - NLMSG_HDRLEN);
	struct exchange *x = arg;

	(void)from;
	read_ext_ack(hdr, x);
	x->error = -err->error;
	x->done = true;
	return NL_STOP;
}

static int on_end(struct nl_msg *msg, void *arg)
{
	struct exchange *x = arg;
	const struct nlmsghdr *hdr = nlmsg_hdr(msg);
	const int *code = nlmsg_data(hdr);

	/* A dump reports an error in its last message. */
	if (hdr->nlmsg_type == NLMSG_DONE &&
	    nlmsg_datalen(hdr) >= (int)sizeof(*code) && *code < 0)
		x->error = -*code;
	x->done = true;
	return NL_STOP;
}

int genl_send(struct nl_msg *msg, const char *what, genl_reply_fn *reply,
	      void *arg)
{
	struct exchange x = { .reply = reply, .arg = arg };
	struct nl_cb *cb = nl_cb_alloc(NL_CB_DEFAULT);
	int err;

	if (!cb)
		return fail("out of memory");
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_valid, &x);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_end, &x);
	nl_cb_set(cb, NL_CB_FINISH, NL_CB_CUSTOM, on_end, &x);
	nl_cb_err(cb, NL_CB_CUSTOM, on_error, &x);

	err = nl_send_auto(sock, msg);
	nlmsg_free(msg);
	while (err >= 0 && !x.done)
		err = nl_recvmsgs(sock, cb);
	nl_cb_put(cb);
	if (!what)
		return x.error || err < 0 ? EXIT_FAILURE : 0;
	if (x.error && x.text[0])
		return fail("%s: %s (%s)", what, x.text, strerror(x.error));
	if (x.error)
		return fail("%s: %s", what, strerror(x.error));
	if (err < 0)
		return fail("%s: %s", what, nl_geterror(err));
	return 0;
}
