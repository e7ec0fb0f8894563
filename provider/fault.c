// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * SOFTHCA_FAULTS: rules of a file by which verbs of this process fail, without any
 * privilege. They have the words of softhca(8), fault add. Nothing reaches the kernel
 * when a verb fails here, so the ones that destroy may fail, too: their object stays.
 */
#define _GNU_SOURCE	/* secure_getenv(), strerrorname_np() */
#include "softhca.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHCA_FAULT_LINE		1024

/* Verbs, and the operations of the context that they are. */
#define SHCA_FAULT_CALLS(P, I)						\
	P(alloc_dm, struct ibv_dm *, ctx,				\
	  (struct ibv_context *ctx, struct ibv_alloc_dm_attr *attr),	\
	  (ctx, attr))							\
	P(alloc_mw, struct ibv_mw *, pd->context,			\
	  (struct ibv_pd *pd, enum ibv_mw_type type), (pd, type))	\
	P(alloc_pd, struct ibv_pd *, ctx, (struct ibv_context *ctx), (ctx)) \
	P(create_ah, struct ibv_ah *, pd->context,			\
	  (struct ibv_pd *pd, struct ibv_ah_attr *attr), (pd, attr))	\
	P(create_cq, struct ibv_cq *, ctx,				\
	  (struct ibv_context *ctx, int cqe, struct ibv_comp_channel *channel, \
	   int vector), (ctx, cqe, channel, vector))			\
	P(create_cq_ex, struct ibv_cq_ex *, ctx,			\
	  (struct ibv_context *ctx, struct ibv_cq_init_attr_ex *attr),	\
	  (ctx, attr))							\
	P(create_flow, struct ibv_flow *, qp->context,			\
	  (struct ibv_qp *qp, struct ibv_flow_attr *attr), (qp, attr))	\
	P(create_qp, struct ibv_qp *, pd->context,			\
	  (struct ibv_pd *pd, struct ibv_qp_init_attr *attr), (pd, attr)) \
	P(create_qp_ex, struct ibv_qp *, ctx,				\
	  (struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr),	\
	  (ctx, attr))							\
	P(create_srq, struct ibv_srq *, pd->context,			\
	  (struct ibv_pd *pd, struct ibv_srq_init_attr *attr), (pd, attr)) \
	P(create_srq_ex, struct ibv_srq *, ctx,				\
	  (struct ibv_context *ctx, struct ibv_srq_init_attr_ex *attr),	\
	  (ctx, attr))							\
	P(create_wq, struct ibv_wq *, ctx,				\
	  (struct ibv_context *ctx, struct ibv_wq_init_attr *attr),	\
	  (ctx, attr))							\
	P(open_xrcd, struct ibv_xrcd *, ctx,				\
	  (struct ibv_context *ctx, struct ibv_xrcd_init_attr *attr),	\
	  (ctx, attr))							\
	P(reg_mr, struct ibv_mr *, pd->context,				\
	  (struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,	\
	   int access), (pd, addr, length, iova, access))		\
	I(advise_mr, pd->context,					\
	  (struct ibv_pd *pd, enum ibv_advise_mr_advice advice,		\
	   uint32_t flags, struct ibv_sge *list, uint32_t nr),		\
	  (pd, advice, flags, list, nr))				\
	I(close_xrcd, xrcd->context, (struct ibv_xrcd *xrcd), (xrcd))	\
	I(dealloc_mw, mw->context, (struct ibv_mw *mw), (mw))		\
	I(dealloc_pd, pd->context, (struct ibv_pd *pd), (pd))		\
	I(dereg_mr, vmr->ibv_mr.context, (struct verbs_mr *vmr), (vmr))	\
	I(destroy_ah, ah->context, (struct ibv_ah *ah), (ah))		\
	I(destroy_cq, cq->context, (struct ibv_cq *cq), (cq))		\
	I(destroy_flow, flow->context, (struct ibv_flow *flow), (flow))	\
	I(destroy_qp, qp->context, (struct ibv_qp *qp), (qp))		\
	I(destroy_srq, srq->context, (struct ibv_srq *srq), (srq))	\
	I(destroy_wq, wq->context, (struct ibv_wq *wq), (wq))		\
	I(free_dm, dm->context, (struct ibv_dm *dm), (dm))		\
	I(modify_qp, qp->context,					\
	  (struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask),	\
	  (qp, attr, mask))						\
	I(modify_srq, srq->context,					\
	  (struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask),	\
	  (srq, attr, mask))						\
	I(query_port, ctx,						\
	  (struct ibv_context *ctx, uint8_t port, struct ibv_port_attr *attr), \
	  (ctx, port, attr))						\
	I(query_qp, qp->context,					\
	  (struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,	\
	   struct ibv_qp_init_attr *init), (qp, attr, mask, init))	\
	I(query_srq, srq->context,					\
	  (struct ibv_srq *srq, struct ibv_srq_attr *attr), (srq, attr)) \
	I(rereg_mr, vmr->ibv_mr.context,				\
	  (struct verbs_mr *vmr, int flags, struct ibv_pd *pd, void *addr, \
	   size_t length, int access),					\
	  (vmr, flags, pd, addr, length, access))			\
	I(resize_cq, cq->context, (struct ibv_cq *cq, int cqe), (cq, cqe))

/*
 * A rule.
 * @device:	empty: all
 * @verb:	its name; an extended form of it counts as the verb
 * @state:	under shca_faults_lock
 */
struct shca_fault {
	struct shca_fault *next;
	char device[64];
	char verb[32];
	int err;
	struct shca_fault_when when;
	struct shca_fault_state state;
};

static pthread_mutex_t shca_faults_lock = PTHREAD_MUTEX_INITIALIZER;
static struct shca_fault *shca_faults;
/* What the file was like, once it has been read: 0, or an errno. */
static int shca_faults_err = -1;

static bool shca_fault_fits(const struct shca_fault *fault, const char *verb,
			    const char *device)
{
	size_t length = strlen(fault->verb);

	return !strncmp(verb, fault->verb, length) &&
	       (!verb[length] || !strcmp(verb + length, "_ex")) &&
	       (!*fault->device || !strcmp(fault->device, device));
}

/* Return: 0, or the errno with which the verb fails. */
static int shca_fault_ask(const struct ibv_context *ctx, const char *verb)
{
	struct shca_fault *fault;
	int err = 0;

	pthread_mutex_lock(&shca_faults_lock);
	for (fault = shca_faults; fault && !err; fault = fault->next)
		if (shca_fault_fits(fault, verb, ctx->device->name) &&
		    shca_fault_due(&fault->when, &fault->state, 0))
			err = fault->err;
	pthread_mutex_unlock(&shca_faults_lock);
	if (err)
		errno = err;
	return err;
}

#define P(name, type, ctx, params, args)				\
static type shca_fault_##name params					\
{									\
	return shca_fault_ask(ctx, #name) ? NULL : shca_##name args;	\
}
#define I(name, ctx, params, args)					\
static int shca_fault_##name params					\
{									\
	int err = shca_fault_ask(ctx, #name);				\
									\
	return err ? err : shca_##name args;				\
}
SHCA_FAULT_CALLS(P, I)
#undef P
#undef I

static void shca_fault_set_ops(struct verbs_context_ops *ops)
{
#define P(name, type, ctx, params, args) ops->name = shca_fault_##name;
#define I(name, ctx, params, args) ops->name = shca_fault_##name;
	SHCA_FAULT_CALLS(P, I)
#undef P
#undef I
}

/* ---- the file -------------------------------------------------------------------- */

static bool shca_fault_is_verb(const char *word)
{
	static const char *const names[] = {
#define P(name, type, ctx, params, args) #name,
#define I(name, ctx, params, args) #name,
		SHCA_FAULT_CALLS(P, I)
#undef P
#undef I
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i], word))
			return true;
	return false;
}

static int shca_fault_errno(const char *word)
{
	const char *name;
	int i;

	for (i = 1; i <= SHCA_FAULT_ERRNO_MAX; i++) {
		name = strerrorname_np(i);
		if (name && !strcmp(name, word))
			return i;
	}
	return 0;
}

static bool shca_fault_u64(const char *word, __u64 *number)
{
	char *end;

	if (*word < '0' || *word > '9')
		return false;
	errno = 0;
	*number = strtoull(word, &end, 0);
	return !errno && !*end;
}

/* From 1 on. */
static bool shca_fault_u32(const char *word, __u32 *number)
{
	__u64 wide;

	if (!shca_fault_u64(word, &wide) || !wide || wide > UINT32_MAX)
		return false;
	*number = wide;
	return true;
}

static bool shca_fault_ppm(const char *word, __u32 *ppm)
{
	double part;
	char *end;

	if (*word < '0' || *word > '9')
		return false;
	part = strtod(word, &end);
	if (*end == '%') {
		part /= 100;
		end++;
	}
	if (*end || part > 1)
		return false;
	*ppm = part * SHCA_FAULT_ALWAYS + 0.5;
	return *ppm;
}

/* Return: whether the word is right. */
static bool shca_fault_word(struct shca_fault *fault, const char *key,
			    const char *value)
{
	if (!strcmp(key, "do"))
		return !strcmp(value, "fail");
	if (!strcmp(key, "dev")) {
		snprintf(fault->device, sizeof(fault->device), "%s", value);
		return *value && strlen(value) < sizeof(fault->device);
	}
	if (!strcmp(key, "verb")) {
		snprintf(fault->verb, sizeof(fault->verb), "%s", value);
		return shca_fault_is_verb(value);
	}
	if (!strcmp(key, "errno"))
		return (fault->err = shca_fault_errno(value));
	if (!strcmp(key, "nth"))
		return shca_fault_u32(value, &fault->when.nth);
	if (!strcmp(key, "every"))
		return shca_fault_u32(value, &fault->when.every);
	if (!strcmp(key, "count"))
		return shca_fault_u32(value, &fault->when.count);
	if (!strcmp(key, "seed"))
		return shca_fault_u64(value, &fault->when.seed);
	return !strcmp(key, "prob") && shca_fault_ppm(value, &fault->when.probability);
}

static int shca_fault_wrong(const char *name, int number, const char *word,
			    const char *why)
{
	fprintf(stderr, "softhca: SOFTHCA_FAULTS: %s line %d: %s: %s\n", name,
		number, word, why);
	return EINVAL;
}

static int shca_fault_parse(struct shca_fault *fault, const char *name,
			    int number, char *line)
{
	char *word, *value, whole[SHCA_FAULT_LINE];

	fault->when.probability = SHCA_FAULT_ALWAYS;
	while ((word = strsep(&line, " \t"))) {
		if (!*word)
			continue;
		snprintf(whole, sizeof(whole), "%s", word);
		value = strchr(word, '=');
		if (value)
			*value++ = '\0';
		if (!value || !shca_fault_word(fault, word, value))
			return shca_fault_wrong(name, number, whole,
						"wrong (a process may have do=fail with verb, errno, dev, nth, every, count, prob, seed)");
	}
	if (!*fault->verb)
		return shca_fault_wrong(name, number, "verb", "missing");
	if (!fault->err)
		return shca_fault_wrong(name, number, "errno", "missing");
	return 0;
}

static int shca_fault_read(const char *name)
{
	struct shca_fault *fault, **last = &shca_faults;
	char line[SHCA_FAULT_LINE];
	FILE *file = fopen(name, "re");
	int number = 0, err = 0;

	if (!file) {
		err = errno;
		fprintf(stderr, "softhca: SOFTHCA_FAULTS: %s: %s\n", name,
			strerror(err));
		return err;
	}
	while (!err && fgets(line, sizeof(line), file)) {
		number++;
		line[strcspn(line, "#\n")] = '\0';
		if (!line[strspn(line, " \t")])
			continue;
		fault = calloc(1, sizeof(*fault));
		if (!fault) {
			err = ENOMEM;
			break;
		}
		err = shca_fault_parse(fault, name, number, line);
		/* The first one that applies decides. */
		*last = fault;
		last = &fault->next;
	}
	fclose(file);
	return err;
}

int shca_fault_start(struct verbs_context_ops *ops)
{
	/* Not from one who starts a program with more rights than his own. */
	const char *name = secure_getenv("SOFTHCA_FAULTS");

	if (!name || !*name)
		return 0;
	pthread_mutex_lock(&shca_faults_lock);
	/* Once: what the rules have counted is of the process. */
	if (shca_faults_err < 0)
		shca_faults_err = shca_fault_read(name);
	pthread_mutex_unlock(&shca_faults_lock);
	if (shca_faults_err)
		return shca_faults_err;
	shca_fault_set_ops(ops);
	return 0;
}
