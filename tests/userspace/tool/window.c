// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* `softhca top` in its window, with a kernel that is made up: forty queue pairs, one of which fails. */
#include "explain.h"
#include "kernel.h"

#include <stdlib.h>

int genl_open(bool quiet)
{
	(void)quiet;
	return 0;
}

int complain(const char *format, ...)
{
	(void)format;
	return EXIT_USAGE;
}

bool latency_open(void)
{
	return false;
}

void latency_read(void)
{
}

void latency_close(void)
{
}

double latency_part(const struct top_latency *latency, double part)
{
	(void)latency;
	return part;
}

uint64_t latency_bucket(const struct top_latency *latency, int octave)
{
	return latency->slot[octave];
}

void print_json_string(const char *s)
{
	printf("\"%s\"", s);
}

const char *qp_type_name(unsigned int type)
{
	return type == 2 ? "RC" : "?";
}

const char *qp_state_name(unsigned int state)
{
	return state == 3 ? "RTS" : "?";
}

int main(void)
{
	const struct call call = { .command = top_commands };

	nr_qps = 40;
	failing_qp = 3;
	return top_commands->run(&call);
}
