// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * `softhca compat rxe`: a file for modprobe(8) with which scripts written for rdma_rxe make
 * softhca devices. They load rdma_rxe, and some stop where that fails, so the name is an alias:
 * modprobe and modprobe -r of rdma_rxe then are those of softhca. The parameter as_rxe makes the
 * module register link type rxe, and refuse the real rdma_rxe (device/main.c).
 */
#include "../softhca.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define CONF	"/etc/modprobe.d/softhca-rxe.conf"
#define MODULE	"/sys/module/softhca"

static bool module_has_type(void)
{
	char value[8];

	file_line(MODULE "/parameters/as_rxe", value, sizeof(value));
	return !strcmp(value, "Y");
}

static int show_status(void)
{
	printf("file    %s\n", access(CONF, F_OK) ? "none" : CONF);
	printf("module  %s\n", access(MODULE, F_OK) ? "not loaded" :
	       module_has_type() ? "loaded, has link type rxe" : "loaded, has no link type rxe");
	return EXIT_SUCCESS;
}

static int conf_failed(void)
{
	return fail("compat rxe: " CONF ": %s", strerror(errno));
}

static int turn_on(void)
{
	FILE *file;
	bool bad;

	/* The module registers the type when it is loaded, and only where it is free. */
	if (!access("/sys/module/rdma_rxe", F_OK))
		return fail("compat rxe: rdma_rxe is loaded and has link type rxe (try 'modprobe -r rdma_rxe')");
	if (!access(MODULE, F_OK) && !module_has_type())
		return fail("compat rxe: the module is loaded without link type rxe (try 'modprobe -r softhca')");
	file = fopen(CONF, "we");
	if (!file)
		return conf_failed();
	fputs("# Written by `softhca compat rxe on`, removed by `softhca compat rxe off`; see softhca(8).\n"
	      "alias rdma_rxe softhca\n"
	      "alias rdma-link-rxe softhca\n"
	      "options softhca as_rxe=1\n", file);
	bad = ferror(file);
	/* Half of it would load softhca for rdma_rxe, without the type. */
	if (fclose(file) || bad) {
		unlink(CONF);
		return conf_failed();
	}
	return show_status();
}

static int compat_rxe(const struct call *call)
{
	if (!strcmp(call->word[0], "on"))
		return turn_on();
	if (!strcmp(call->word[0], "off") && unlink(CONF) && errno != ENOENT)
		return conf_failed();
	return show_status();
}

const struct command compat_commands[] = {
	{
		.name = "compat rxe",
		.pattern = "on|off|status",
		.summary = "let scripts that are written for rdma_rxe make softhca devices",
		.details = "on writes " CONF ": 'modprobe rdma_rxe' then loads\n"
			   "softhca, with link type rxe beside its own. rdma_rxe itself cannot be loaded beside it.\n"
			   "off removes the file. A loaded module keeps the type until 'modprobe -r softhca'.\n"
			   "Example: sudo softhca compat rxe on && sudo rdma link add rxe0 type rxe netdev eth0",
		.run = compat_rxe,
	},
	{}
};
