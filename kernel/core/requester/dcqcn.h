/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * DCQCN, reaction point: the rate of a sender whose peer reports marked packets (CNPs).
 *
 * The rate falls with each CNP by a share that follows how often CNPs come (alpha). It rises by
 * stages, each a time or a number of bytes without a CNP. The first stages go half of the way back
 * to the former rate (fast recovery). The next add a constant (additive increase), the last add
 * multiples of a larger one (hyper increase). Parameters have the names and units of mlx5 (debugfs
 * cc_params).
 *
 * What differs from an adapter: round trips of software are long. Therefore the rate falls at most
 * once in a smoothed round trip, and does not rise within one after a CNP. Otherwise it would fall
 * many times for one full queue, and be back before the queue shows it. Presets of time constants
 * are larger for the same reason. By default there are no stages by bytes: 32,767 bytes are sent
 * much faster than CNPs come, and a fast sender has more such stages than a slow one. Stages by
 * time are the same for all senders, which makes their shares equal.
 *
 * Nothing here has a timer: each event catches up on periods that have passed.
 */
#ifndef SHCA_CORE_DCQCN_H
#define SHCA_CORE_DCQCN_H

#include "../os.h"
#include "../own.h"

/* Bytes a second of 1 Mbit/s, the unit of rates among the parameters. */
#define SHCA_CC_MBIT		125000u

/*
 * The parameters: name, default, least, most.
 *
 * @rp_clamp_tgt_rate:	each CNP makes the current rate the target
 * @rp_clamp_tgt_rate_ati: the same, only after a rise by time
 * @rp_time_reset:	microseconds of a stage by time
 * @rp_byte_reset:	bytes of a stage by bytes; 0: there is none
 * @rp_threshold:	stages of fast recovery
 * @rp_ai_rate:		additive increase, Mbit/s
 * @rp_max_rate:	Mbit/s; 0: that of the port
 * @rp_hai_rate:	hyper increase, Mbit/s
 * @rp_min_dec_fac:	percent of the rate that a CNP leaves at least
 * @rp_min_rate:	Mbit/s
 * @rp_rate_to_set_on_first_cnp: Mbit/s; 0: the rate that was measured
 * @rp_dce_tcp_g:	weight of the former alpha, of 1024
 * @rp_dce_tcp_rtt:	microseconds between two updates of alpha, at least
 * @rp_rate_reduce_monitor_period: microseconds between two cuts, at least
 * @rp_initial_alpha_value: of 1023
 * @rp_gd:		a CNP takes alpha / 2^rp_gd of the rate
 * @np_min_time_between_cnps: microseconds, for a QP
 * @delay_target:	microseconds that a round trip may exceed the least one: of the algorithm
 *			`delay`, and not a parameter of mlx5
 *
 * np_cnp_dscp, np_cnp_prio and np_cnp_prio_mode of mlx5 are missing: a CNP leaves with the traffic
 * class and the SL of its queue pair.
 */
#define SHCA_CC_PARAMS(X)					\
	X(rp_clamp_tgt_rate,		1, 0, 1)		\
	X(rp_clamp_tgt_rate_ati,	1, 0, 1)		\
	X(rp_time_reset,		300, 1, 131071)		\
	X(rp_byte_reset,		0, 0, 32767)		\
	X(rp_threshold,			5, 1, 31)		\
	X(rp_ai_rate,			5, 1, 100000)		\
	X(rp_max_rate,			0, 0, 400000)		\
	X(rp_hai_rate,			50, 1, 100000)		\
	X(rp_min_dec_fac,		50, 1, 100)		\
	X(rp_min_rate,			1, 1, 100000)		\
	X(rp_rate_to_set_on_first_cnp,	0, 0, 400000)		\
	X(rp_dce_tcp_g,			960, 0, 1023)		\
	X(rp_dce_tcp_rtt,		1000, 1, 131071)		\
	X(rp_rate_reduce_monitor_period, 4, 1, 131071)		\
	X(rp_initial_alpha_value,	1023, 1, 1023)		\
	X(rp_gd,			12, 10, 15)		\
	X(np_min_time_between_cnps,	50, 0, 4095)		\
	X(delay_target,			1000, 1, 1000000)

/* Parameters of a device; they may change at any time, so READ_ONCE(). */
struct shca_cc_params {
#define SHCA_CC_PARAM(name, preset, least, most) u32 name;
	SHCA_CC_PARAMS(SHCA_CC_PARAM)
#undef SHCA_CC_PARAM
};

extern const struct shca_cc_params shca_cc_presets;

/*
 * The state of a sender.
 * @rate:	bytes a second; 0: no limit, as until the first CNP
 * @target:	the rate that fast recovery goes back to
 * @line:	bytes a second of the port
 * @alpha:	share of congestion, 0 to SHCA_DCQCN_ALPHA
 * @marked:	a CNP has come since the last update of alpha
 * @alpha_at:	the next update of alpha is due
 * @rise_at:	the stage by time ends
 * @cut_at:	a CNP before this time does not reduce the rate
 * @calm_at:	a stage may begin
 * @round_ns:	the round trip at the last CNP
 * @bytes:	sent in this stage by bytes
 * @by_time: @by_bytes: stages since the last CNP
 */
struct shca_dcqcn {
	SHCA_OWN struct {
		u64 rate;
		u64 target;
		u64 line;
		u32 alpha;
		bool marked;
		u8 by_time;
		u8 by_bytes;
		u32 bytes;
		u64 alpha_at;
		u64 rise_at;
		u64 cut_at;
		u64 calm_at;
		u64 round_ns;
	};
};

#define SHCA_DCQCN_ALPHA_SHIFT	20
#define SHCA_DCQCN_ALPHA	(1u << SHCA_DCQCN_ALPHA_SHIFT)

/* Start without a limit; @line: bytes a second of the port. */
void shca_dcqcn_start(struct shca_dcqcn *dc, u64 line);

/*
 * A CNP has come.
 * @measured:	bytes a second that have left lately
 * @rtt_ns:	the smoothed round trip, 0: unknown
 */
void shca_dcqcn_cnp(struct shca_dcqcn *dc, const struct shca_cc_params *params,
		    u64 measured, u64 rtt_ns, u64 now);

/* @bytes leave: raise the rate if stages without a CNP have ended. */
void shca_dcqcn_sent(struct shca_dcqcn *dc, const struct shca_cc_params *params,
		     u32 bytes, u64 now);

#endif
