// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Automatic path migration (IBTA 17.2.8): the states, and what they mean for both sides. */
#include "fixture.h"

#include "../../kernel/core/apm.h"

#define MIGRATED	SHCA_APM_MIGRATED
#define REARM		SHCA_APM_REARM
#define ARMED		SHCA_APM_ARMED
#define RETRIES		2

/* ---- the states --------------------------------------------------------------- */

struct apm_rx_row {
	const char *name;
	u8 state;
	bool mig;
	u8 path;
	u8 step;
	u8 after;
};

static const struct apm_rx_row apm_rx_rows[] = {
	{ "migrated, MigReq 1", MIGRATED, true, SHCA_APM_PRIMARY, SHCA_APM_STAY, MIGRATED },
	{ "migrated, MigReq 0", MIGRATED, false, SHCA_APM_PRIMARY, SHCA_APM_STAY, MIGRATED },
	{ "migrated, by the alternate path", MIGRATED, true, SHCA_APM_ALTERNATE,
	  SHCA_APM_STAY, MIGRATED },
	{ "rearm, MigReq 1", REARM, true, SHCA_APM_PRIMARY, SHCA_APM_STAY, REARM },
	{ "rearm, MigReq 0", REARM, false, SHCA_APM_PRIMARY, SHCA_APM_ARM, ARMED },
	{ "rearm, MigReq 0 by the alternate path", REARM, false, SHCA_APM_ALTERNATE,
	  SHCA_APM_STAY, REARM },
	{ "rearm, MigReq 1 by the alternate path", REARM, true, SHCA_APM_ALTERNATE,
	  SHCA_APM_STAY, REARM },
	{ "armed, MigReq 0", ARMED, false, SHCA_APM_PRIMARY, SHCA_APM_STAY, ARMED },
	{ "armed, late MigReq 1", ARMED, true, SHCA_APM_PRIMARY, SHCA_APM_STAY, ARMED },
	{ "armed, MigReq 1 by the alternate path", ARMED, true, SHCA_APM_ALTERNATE,
	  SHCA_APM_MIGRATE, MIGRATED },
	{ "armed, MigReq 0 by the alternate path", ARMED, false, SHCA_APM_ALTERNATE,
	  SHCA_APM_STAY, ARMED },
	{ "armed, by a third path of the peer", ARMED, true, SHCA_APM_PEER,
	  SHCA_APM_REFUSE, ARMED },
	{ "armed, MigReq 0 by a third path", ARMED, false, SHCA_APM_PEER,
	  SHCA_APM_STAY, ARMED },
	{ "armed, not of the peer", ARMED, true, SHCA_APM_STRANGE, SHCA_APM_STAY, ARMED },
	{ "rearm, by a third path", REARM, true, SHCA_APM_PEER, SHCA_APM_STAY, REARM },
};

static void apm_rx_desc(const struct apm_rx_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(apm_rx, apm_rx_rows, apm_rx_desc);

static void packet_changes_the_state(struct kunit *test)
{
	const struct apm_rx_row *row = test->param_value;
	struct shca_apm apm = { .state = row->state, .loaded = true };

	KUNIT_EXPECT_EQ(test, (u8)shca_apm_rx(&apm, row->mig, row->path), row->step);
	KUNIT_EXPECT_EQ(test, apm.state, row->after);
}

static void refusal_is_told_once_until_rearm(struct kunit *test)
{
	struct shca_apm apm = { .state = ARMED, .loaded = true };

	KUNIT_EXPECT_EQ(test, shca_apm_rx(&apm, true, SHCA_APM_PEER), SHCA_APM_REFUSE);
	KUNIT_EXPECT_EQ(test, shca_apm_rx(&apm, true, SHCA_APM_PEER), SHCA_APM_STAY);
	/* and does not keep it from migrating */
	KUNIT_EXPECT_EQ(test, shca_apm_rx(&apm, true, SHCA_APM_ALTERNATE),
			SHCA_APM_MIGRATE);
	KUNIT_EXPECT_EQ(test, shca_apm_set(&apm, REARM), SHCA_APM_ARM);
	KUNIT_EXPECT_EQ(test, shca_apm_rx(&apm, false, SHCA_APM_PRIMARY), SHCA_APM_ARM);
	KUNIT_EXPECT_EQ(test, shca_apm_rx(&apm, true, SHCA_APM_PEER), SHCA_APM_REFUSE);
}

static void program_asks_for_rearm_and_migrated_only(struct kunit *test)
{
	struct shca_apm apm = {};

	KUNIT_EXPECT_NULL(test, shca_apm_wrong(&apm, MIGRATED, false));
	KUNIT_EXPECT_NOT_NULL(test, shca_apm_wrong(&apm, REARM, false));
	KUNIT_EXPECT_NULL(test, shca_apm_wrong(&apm, REARM, true));
	apm.loaded = true;
	KUNIT_EXPECT_NULL(test, shca_apm_wrong(&apm, REARM, false));
	KUNIT_EXPECT_NOT_NULL(test, shca_apm_wrong(&apm, ARMED, true));
	KUNIT_EXPECT_NOT_NULL(test, shca_apm_wrong(&apm, 3, true));
}

static void program_migrates_who_is_armed(struct kunit *test)
{
	struct shca_apm apm = { .loaded = true };

	KUNIT_EXPECT_EQ(test, shca_apm_set(&apm, MIGRATED), SHCA_APM_ARM);
	KUNIT_EXPECT_EQ(test, shca_apm_set(&apm, REARM), SHCA_APM_ARM);
	KUNIT_EXPECT_EQ(test, apm.state, REARM);
	/* it is taken back: nobody has agreed yet */
	KUNIT_EXPECT_EQ(test, shca_apm_set(&apm, MIGRATED), SHCA_APM_ARM);
	apm.state = ARMED;
	KUNIT_EXPECT_EQ(test, shca_apm_set(&apm, REARM), SHCA_APM_ARM);
	apm.state = ARMED;
	KUNIT_EXPECT_EQ(test, shca_apm_set(&apm, MIGRATED), SHCA_APM_MIGRATE);
	KUNIT_EXPECT_EQ(test, apm.state, MIGRATED);
}

static void exhausted_retries_migrate_who_is_armed(struct kunit *test)
{
	struct shca_apm apm = { .state = REARM, .loaded = true };

	KUNIT_EXPECT_EQ(test, shca_apm_exhausted(&apm), SHCA_APM_STAY);
	KUNIT_EXPECT_EQ(test, apm.state, REARM);
	apm.state = ARMED;
	KUNIT_EXPECT_EQ(test, shca_apm_exhausted(&apm), SHCA_APM_MIGRATE);
	KUNIT_EXPECT_EQ(test, apm.state, MIGRATED);
	KUNIT_EXPECT_EQ(test, shca_apm_exhausted(&apm), SHCA_APM_STAY);
}

/* ---- both sides --------------------------------------------------------------- */

static void start(struct kunit *test, u8 apm)
{
	struct shca_resp_attr resp;
	struct shca_req_attr req;

	fx_req_attr(&req);
	req.apm = apm;
	req.retry_cnt = RETRIES;
	fx_req_start(test->priv, &req);
	fx_resp_attr(&resp);
	resp.apm = apm;
	fx_resp_start(test->priv, &resp);
}

static void modify(struct kunit *test, u8 apm)
{
	const struct shca_resp_attr resp = { .apm = apm };
	const struct shca_req_attr req = { .apm = apm };
	struct fx *fx = test->priv;

	shca_req_modify(&fx->req, &req, SHCA_REQ_APM);
	shca_resp_modify(&fx->resp, &resp, SHCA_RESP_APM);
}

struct apm_bit_row {
	u8 state;
	bool mig;
};

static const struct apm_bit_row apm_bit_rows[] = {
	{ MIGRATED, true }, { REARM, false }, { ARMED, false },
};

static void apm_bit_desc(const struct apm_bit_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u", row->state);
}

KUNIT_ARRAY_PARAM(apm_bit, apm_bit_rows, apm_bit_desc);

static void expect_bits(struct kunit *test, u32 psn, bool mig)
{
	struct fx *fx = test->priv;

	fx_post(fx, SHCA_WR_SEND, 1);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.mig, mig);
	KUNIT_EXPECT_EQ(test, fx_rx_asking(fx, 0x0a, FX_RQ_PSN + psn, 1), SHCA_RX_OK);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.mig, mig);
}

static void packets_tell_the_state(struct kunit *test)
{
	const struct apm_bit_row *row = test->param_value;

	start(test, row->state);
	expect_bits(test, 0, row->mig);
	modify(test, MIGRATED);
	expect_bits(test, 1, true);
	modify(test, row->state);
	expect_bits(test, 2, row->mig);
}

/* Time-outs until no retry is left. */
static void use_up(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	for (i = 0; i < RETRIES; i++) {
		fx_timeout(fx);
		KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
		KUNIT_EXPECT_FALSE(test, fx->req.migrates);
	}
	fx_timeout(fx);
}

static void armed_requester_migrates_and_has_all_retries(struct kunit *test)
{
	struct fx *fx = test->priv;

	start(test, ARMED);
	fx_post(fx, SHCA_WR_SEND, 1);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
	use_up(test);
	KUNIT_EXPECT_TRUE(test, fx->req.migrates);
	KUNIT_EXPECT_EQ(test, fx->req.attr.apm, MIGRATED);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.retry_left, RETRIES);
	modify(test, MIGRATED);
	KUNIT_EXPECT_FALSE(test, fx->req.migrates);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, FX_SQ_PSN);
	KUNIT_EXPECT_TRUE(test, fx->pkt.mig);
	use_up(test);
	KUNIT_EXPECT_FALSE(test, fx->req.migrates);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_RETRY_EXC_ERR);
}

static void requester_without_peers_consent_fails(struct kunit *test)
{
	struct fx *fx = test->priv;

	start(test, REARM);
	fx_post(fx, SHCA_WR_SEND, 1);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
	use_up(test);
	KUNIT_EXPECT_FALSE(test, fx->req.migrates);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_RETRY_EXC_ERR);
}

static void migration_of_the_peer_gives_all_retries(struct kunit *test)
{
	struct fx *fx = test->priv;

	start(test, ARMED);
	fx_post(fx, SHCA_WR_SEND, 1);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
	fx_timeout(fx);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
	modify(test, MIGRATED);
	use_up(test);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_RETRY_EXC_ERR);
}

static void new_connection_has_migrated(struct kunit *test)
{
	struct fx *fx = test->priv;

	start(test, ARMED);
	fx_post(fx, SHCA_WR_SEND, 1);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
	use_up(test);
	KUNIT_EXPECT_TRUE(test, fx->req.migrates);
	shca_req_reset(&fx->req);
	KUNIT_EXPECT_FALSE(test, fx->req.migrates);
	KUNIT_EXPECT_EQ(test, fx->req.attr.apm, MIGRATED);
}

static struct kunit_case apm_cases[] = {
	KUNIT_CASE_PARAM(packet_changes_the_state, apm_rx_gen_params),
	KUNIT_CASE(refusal_is_told_once_until_rearm),
	KUNIT_CASE(program_asks_for_rearm_and_migrated_only),
	KUNIT_CASE(program_migrates_who_is_armed),
	KUNIT_CASE(exhausted_retries_migrate_who_is_armed),
	KUNIT_CASE_PARAM(packets_tell_the_state, apm_bit_gen_params),
	KUNIT_CASE(armed_requester_migrates_and_has_all_retries),
	KUNIT_CASE(requester_without_peers_consent_fails),
	KUNIT_CASE(migration_of_the_peer_gives_all_retries),
	KUNIT_CASE(new_connection_has_migrated),
	{}
};

static struct kunit_suite apm_suite = {
	.name = "softhca_apm",
	.init = fx_init,
	.test_cases = apm_cases,
};

kunit_test_suites(&apm_suite);
