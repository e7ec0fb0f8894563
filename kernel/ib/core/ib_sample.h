/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Sampling of a port's counters (IBTA 16.1.3.2 to 16.1.3.4): what some of them count in an
 * interval. Without clock and locks.
 */
#ifndef SHCA_CORE_IB_SAMPLE_H
#define SHCA_CORE_IB_SAMPLE_H

#include "../../core/os.h"

/* Counters of a sample; the attributes have room for more. */
#define SHCA_IB_SAMPLES		5

/* SampleStatus. */
enum shca_ib_sampling {
	SHCA_IB_SAMPLE_DONE,
	SHCA_IB_SAMPLE_STARTED,	/* SampleStart passes */
	SHCA_IB_SAMPLE_RUNNING,	/* SampleInterval passes */
};

/* CounterSelect: what is counted; others count nothing. */
enum shca_ib_sampled {
	SHCA_IB_SAMPLE_NOTHING,
	SHCA_IB_SAMPLE_XMIT_DATA,
	SHCA_IB_SAMPLE_RCV_DATA,
	SHCA_IB_SAMPLE_XMIT_PKTS,
	SHCA_IB_SAMPLE_RCV_PKTS,
	SHCA_IB_SAMPLE_XMIT_WAIT,
};

/**
 * struct shca_ib_sample - one sample
 * @status:	enum shca_ib_sampling
 * @tag:	chosen by the manager
 * @start:	microseconds (ticks) until it runs
 * @interval:	microseconds that it runs
 * @select:	CounterSelect
 * @value:	while it runs, the counters at its beginning; after that, the result
 */
struct shca_ib_sample {
	u8 status;
	u16 tag;
	u32 start;
	u32 interval;
	u16 select[SHCA_IB_SAMPLES];
	u64 value[SHCA_IB_SAMPLES];
};

/*
 * Set(PortSamplesControl). While a sample is under way, it changes nothing.
 * @in:		the attribute
 *
 * Return: whether a sample begins: call shca_ib_sample_step() @start microseconds later.
 */
bool shca_ib_sample_set(struct shca_ib_sample *sample, const u8 *in);

/*
 * @start or @interval is over.
 * @now:	the present values of the selected counters
 *
 * Return: whether the caller calls it again, @interval microseconds later.
 */
bool shca_ib_sample_step(struct shca_ib_sample *sample,
			 const u64 now[SHCA_IB_SAMPLES]);

/* PortSamplesControl, all but PortSelect; @out is zeroed. */
void shca_ib_sample_control(const struct shca_ib_sample *sample, u8 *out);

/* PortSamplesResult, or with @ext _Extended; @out is zeroed. */
void shca_ib_sample_result(const struct shca_ib_sample *sample, bool ext, u8 *out);

#endif
