// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Sampling of counters: see ib_sample.h. */
#include "ib_sample.h"

#include "../../core/be.h"

/* PortSamplesControl (IBTA 16.1.3.2) */
#define CONTROL_TICK		2
#define CONTROL_WIDTH		3
#define CONTROL_MASK_0_9	4
#define CONTROL_STATUS		11
#define CONTROL_START		28
#define CONTROL_INTERVAL	32
#define CONTROL_TAG		36
#define CONTROL_SELECT		38
/* PortSamplesResult and Extended (16.1.3.3, 16.1.3.4) */
#define RESULT_STATUS		2
#define RESULT_COUNTERS		4
#define RESULT_WIDTH_EXT	4
#define RESULT_COUNTERS_EXT	8

/* A tick is this many symbol times of 4 ns, and one more: a microsecond. */
#define TICK			249
/* Codes of the width of counters: 32 bits; 64 in the upper two bits of the extended result. */
#define WIDTH_32		4
#define WIDTH_64		0x80000000u
/* Three bits for each counter, the first one uppermost: each counts the mandatory quantities. */
#define MASK_MANDATORY		0x09248000u

bool shca_ib_sample_set(struct shca_ib_sample *sample, const u8 *in)
{
	u32 i;

	if (sample->status != SHCA_IB_SAMPLE_DONE)
		return false;
	sample->start = get_be32(in + CONTROL_START);
	sample->interval = get_be32(in + CONTROL_INTERVAL);
	sample->tag = get_be16(in + CONTROL_TAG);
	for (i = 0; i < SHCA_IB_SAMPLES; i++) {
		sample->select[i] = get_be16(in + CONTROL_SELECT + 2 * i);
		sample->value[i] = 0;
	}
	sample->status = SHCA_IB_SAMPLE_STARTED;
	return true;
}

bool shca_ib_sample_step(struct shca_ib_sample *sample,
			 const u64 now[SHCA_IB_SAMPLES])
{
	u32 i;

	if (sample->status == SHCA_IB_SAMPLE_DONE)
		return false;
	for (i = 0; i < SHCA_IB_SAMPLES; i++)
		sample->value[i] = now[i] - sample->value[i];
	if (sample->status == SHCA_IB_SAMPLE_RUNNING) {
		sample->status = SHCA_IB_SAMPLE_DONE;
		return false;
	}
	sample->status = SHCA_IB_SAMPLE_RUNNING;
	return true;
}

void shca_ib_sample_control(const struct shca_ib_sample *sample, u8 *out)
{
	u32 i;

	out[CONTROL_TICK] = TICK;
	out[CONTROL_WIDTH] = WIDTH_32;
	put_be32(out + CONTROL_MASK_0_9, MASK_MANDATORY);
	out[CONTROL_STATUS] = sample->status;
	put_be32(out + CONTROL_START, sample->start);
	put_be32(out + CONTROL_INTERVAL, sample->interval);
	put_be16(out + CONTROL_TAG, sample->tag);
	for (i = 0; i < SHCA_IB_SAMPLES; i++)
		put_be16(out + CONTROL_SELECT + 2 * i, sample->select[i]);
}

/* A sample that is not done has no values (16.1.3.3). */
void shca_ib_sample_result(const struct shca_ib_sample *sample, bool ext, u8 *out)
{
	u64 value;
	u32 i;

	put_be16(out, sample->tag);
	put_be16(out + RESULT_STATUS, sample->status);
	if (ext)
		put_be32(out + RESULT_WIDTH_EXT, WIDTH_64);
	for (i = 0; i < SHCA_IB_SAMPLES; i++) {
		value = sample->status == SHCA_IB_SAMPLE_DONE ? sample->value[i] : 0;
		if (ext)
			put_be64(out + RESULT_COUNTERS_EXT + 8 * i, value);
		else
			put_be32(out + RESULT_COUNTERS + 4 * i,
				 min_t(u64, value, 0xffffffff));
	}
}
