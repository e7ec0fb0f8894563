// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * DMA handles, and the speed of a port: new in kernels and libibverbs since
 * 2025. rdma-core's own suite tests what a region with a handle does.
 */
#define _GNU_SOURCE	/* cpu_set_t */
#include "util.h"

#ifdef HAVE_DMAH

#include <sched.h>

#define TARGET	(IBV_DMAH_INIT_ATTR_MASK_CPU_ID | \
		 IBV_DMAH_INIT_ATTR_MASK_TPH_MEM_TYPE)

static struct ibv_dmah *make(uint32_t comp_mask, uint32_t cpu, uint8_t ph)
{
	struct ibv_dmah_init_attr attr = {
		.comp_mask = comp_mask,
		.cpu_id = cpu,
		.ph = ph,
		.tph_mem_type = IBV_TPH_MEM_TYPE_VM,
	};

	return ibv_alloc_dmah(nic_a()->ctx, &attr);
}

static struct ibv_mr *region(struct ibv_dmah *dmah, void *p, int access)
{
	struct ibv_mr_init_attr attr = {
		.comp_mask = IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_DMAH,
		.addr = p,
		.length = 4096,
		.access = access,
		.dmah = dmah,
	};

	return ibv_reg_mr_ex(nic_a()->pd, &attr);
}

/* The first CPU on which this process may run. */
static uint32_t own_cpu(void)
{
	cpu_set_t set;
	uint32_t cpu = 0;

	REQUIRE_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
	while (!CPU_ISSET(cpu, &set))
		cpu++;
	return cpu;
}

static void wrong_handles_are_refused(void)
{
	uint32_t cpu = own_cpu();
	struct ibv_dmah *dmah;
	cpu_set_t set, one;

	REQUIRE_ERRNO(make(0, cpu, 0), EINVAL);
	REQUIRE_ERRNO(make(TARGET, cpu, 0), EINVAL);
	REQUIRE_ERRNO(make(IBV_DMAH_INIT_ATTR_MASK_PH |
			   IBV_DMAH_INIT_ATTR_MASK_CPU_ID, cpu, 0), EINVAL);
	REQUIRE_ERRNO(make(IBV_DMAH_INIT_ATTR_MASK_PH |
			   IBV_DMAH_INIT_ATTR_MASK_TPH_MEM_TYPE, cpu, 0),
		      EINVAL);
	REQUIRE(!make(IBV_DMAH_INIT_ATTR_MASK_PH, cpu, 4));
	REQUIRE_ERRNO(make(1 << 20, cpu, 0), EOPNOTSUPP);

	/* This part needs a second CPU. */
	REQUIRE_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
	if (CPU_COUNT(&set) > 1) {
		one = set;
		CPU_CLR(cpu, &one);
		REQUIRE_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
		REQUIRE_ERRNO(make(TARGET | IBV_DMAH_INIT_ATTR_MASK_PH, cpu, 0),
			      EPERM);
		REQUIRE_EQ(sched_setaffinity(0, sizeof(set), &set), 0);
	}

	dmah = make(IBV_DMAH_INIT_ATTR_MASK_PH, cpu, 3);
	REQUIRE(dmah);
	REQUIRE_EQ(ibv_dealloc_dmah(dmah), 0);
}

static void stays_while_it_has_regions(void)
{
	struct ibv_dmah *dmah = make(TARGET | IBV_DMAH_INIT_ATTR_MASK_PH,
				     own_cpu(), 1);
	void *p = aligned_alloc(4096, 4096);
	struct ibv_mr *mr, *other;

	REQUIRE(dmah && p);
	mr = region(dmah, p, IBV_ACCESS_LOCAL_WRITE);
	other = region(dmah, p, IBV_ACCESS_LOCAL_WRITE);
	REQUIRE(mr && other);
	REQUIRE_EQ(ibv_dealloc_dmah(dmah), EBUSY);
	REQUIRE_EQ(ibv_dereg_mr(mr), 0);
	REQUIRE_EQ(ibv_dealloc_dmah(dmah), EBUSY);
	REQUIRE_EQ(ibv_dereg_mr(other), 0);
	REQUIRE_ERRNO(region(dmah, p,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND),
		      EINVAL);
	REQUIRE_EQ(ibv_dealloc_dmah(dmah), 0);
	free(p);
}

static void speed_of_the_port(void)
{
	struct ibv_context *ctx = nic_a()->ctx;
	uint64_t speed = 0;

	/* a veth reports 10 Gbit/s */
	REQUIRE_EQ(ibv_query_port_speed(ctx, 1, &speed), 0);
	REQUIRE_EQ(speed, 100);
	REQUIRE(ibv_query_port_speed(ctx, 2, &speed));
}

#endif

static const struct test tests[] = {
#define TEST(name) { #name, name }
#ifdef HAVE_DMAH
	TEST(wrong_handles_are_refused),
	TEST(stays_while_it_has_regions),
	TEST(speed_of_the_port),
#endif
	{}
};

int main(int argc, char **argv)
{
	return util_main(tests, argc, argv);
}
