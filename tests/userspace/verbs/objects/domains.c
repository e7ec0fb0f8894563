// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Thread domains and parent domains: traffic through queues that use them, and
 * the order of their destruction.
 */
#include "util.h"

#include <arpa/inet.h>

static void *no_alloc(struct ibv_pd *pd, void *context, size_t size,
		      size_t alignment, uint64_t type)
{
	(void)pd; (void)context; (void)size; (void)alignment; (void)type;
	return IBV_ALLOCATOR_USE_DEFAULT;
}

static void no_free(struct ibv_pd *pd, void *context, void *p, uint64_t type)
{
	(void)pd; (void)context; (void)p; (void)type;
}

static struct ibv_pd *make_parent(struct nic *nic, struct ibv_td *td,
				  uint32_t comp_mask)
{
	struct ibv_parent_domain_init_attr attr = {
		.pd = nic->pd, .td = td, .comp_mask = comp_mask,
		.alloc = no_alloc, .free = no_free, .pd_context = nic,
	};

	return ibv_alloc_parent_domain(nic->ctx, &attr);
}

static struct ibv_td *make_td(struct nic *nic)
{
	return ibv_alloc_td(nic->ctx, &(struct ibv_td_init_attr){});
}

/* One end has its queues, region and SRQ in a parent domain. */
static void traffic_in(struct ibv_pd *parent)
{
	struct ibv_cq_init_attr_ex cq_attr = {
		.wc_flags = IBV_WC_STANDARD_FLAGS,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
		.parent_domain = parent,
	};
	struct config config = config_default;
	struct buf mem_a, mem_b;
	struct ibv_sge from, to;
	struct ibv_send_wr wr;
	struct end a, b;
	int i;

	b = end_make(nic_b(), &config);
	config.pd = parent;
	config.cq_ex = &cq_attr;
	a = end_make(nic_a(), &config);
	pair_connect(&a, &b);
	mem_a = buf_make(parent, 20000, ACCESS_ALL);
	mem_b = buf_make(b.nic->pd, 20000, ACCESS_ALL);
	fill(mem_a.p, 20000, 3);
	from = sge_of(&mem_a, 0, 20000);
	to = sge_of(&mem_b, 0, 20000);
	for (i = 0; i < 100; i++) {
		post_recv(&b, i, &to, 1);
		wr = wr_send(i, &from, 1);
		post(&a, &wr);
		wait_ok(a.scq, i, IBV_WC_SEND);
		wait_ok(b.rcq, i, IBV_WC_RECV);
	}
	check_fill(mem_b.p, 20000, 3);
	/* The parent domain is in use. */
	REQUIRE_EQ(ibv_dealloc_pd(parent), EBUSY);
	buf_free(&mem_a);
	end_destroy(&a);
	end_destroy(&b);
}

static void parent_domain(void)
{
	struct ibv_pd *parent = make_parent(nic_a(), NULL, 0);

	REQUIRE(parent);
	traffic_in(parent);
	REQUIRE_EQ(ibv_dealloc_pd(parent), 0);
}

static void with_a_thread_domain(void)
{
	struct ibv_td *td = make_td(nic_a());
	struct ibv_pd *parent;

	REQUIRE(td);
	parent = make_parent(nic_a(), td, 0);
	REQUIRE(parent);
	traffic_in(parent);
	/* The parent domain must be deallocated before the thread domain. */
	REQUIRE_EQ(ibv_dealloc_td(td), EBUSY);
	REQUIRE_EQ(ibv_dealloc_pd(parent), 0);
	REQUIRE_EQ(ibv_dealloc_td(td), 0);
}

static void with_allocators(void)
{
	struct ibv_pd *parent;

	parent = make_parent(nic_a(), NULL,
			     IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			     IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT);
	REQUIRE(parent);
	traffic_in(parent);
	REQUIRE_EQ(ibv_dealloc_pd(parent), 0);
}

static void order_of_destruction(void)
{
	struct nic *nic = nic_a();
	struct ibv_parent_domain_init_attr attr = {};
	struct ibv_pd *pd, *parent;
	struct ibv_srq *srq;

	pd = ibv_alloc_pd(nic->ctx);
	REQUIRE(pd);
	attr.pd = pd;
	parent = ibv_alloc_parent_domain(nic->ctx, &attr);
	REQUIRE(parent);
	REQUIRE_EQ(ibv_dealloc_pd(pd), EBUSY);
	srq = ibv_create_srq(parent, &(struct ibv_srq_init_attr){
		.attr = { .max_wr = 4, .max_sge = 1 } });
	REQUIRE(srq);
	REQUIRE_EQ(ibv_dealloc_pd(parent), EBUSY);
	REQUIRE_EQ(ibv_destroy_srq(srq), 0);
	REQUIRE_EQ(ibv_dealloc_pd(parent), 0);
	REQUIRE_EQ(ibv_dealloc_pd(pd), 0);
}

static void refusals(void)
{
	struct nic *nic = nic_a();
	struct ibv_parent_domain_init_attr attr = {};
	struct ibv_pd *parent;

	REQUIRE_ERRNO(ibv_alloc_parent_domain(nic->ctx, &attr), EINVAL);
	attr.pd = nic->pd;
	attr.comp_mask = 1 << 10;
	REQUIRE_ERRNO(ibv_alloc_parent_domain(nic->ctx, &attr), EINVAL);
	attr.comp_mask = 0;
	parent = ibv_alloc_parent_domain(nic->ctx, &attr);
	REQUIRE(parent);
	attr.pd = parent;
	REQUIRE_ERRNO(ibv_alloc_parent_domain(nic->ctx, &attr), EINVAL);
	REQUIRE_ERRNO(ibv_alloc_td(nic->ctx, &(struct ibv_td_init_attr){
				   .comp_mask = 1 }), EINVAL);
}

static const struct test tests[] = {
#define TEST(name) { #name, name }
	TEST(parent_domain),
	TEST(with_a_thread_domain),
	TEST(with_allocators),
	TEST(order_of_destruction),
	TEST(refusals),
	{}
};

int main(int argc, char **argv)
{
	return util_main(tests, argc, argv);
}
