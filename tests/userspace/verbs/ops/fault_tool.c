// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The tool `softhca fault`, as programs of tests use it. */
#define _GNU_SOURCE	/* setns() */
#include "fault_tool.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

/* Rules are made in the network namespace of the device: SHCA_NETNS, if it is another. */
void fault_enter_netns(void)
{
	const char *name = getenv("SHCA_NETNS");
	int fd = name ? open(name, O_RDONLY) : -1;

	if (name && (fd < 0 || setns(fd, CLONE_NEWNET))) {
		perror(name);
		exit(1);
	}
}

/* Runs the tool. */
void fault_tool(const char *words)
{
	char command[1024];

	snprintf(command, sizeof(command), "exec softhca %s >/dev/null", words);
	REQUIRE_EQ(system(command), 0);
}

/* First line that the tool prints. */
void fault_ask(const char *words, char *line, size_t size)
{
	char command[1024];
	FILE *out;

	snprintf(command, sizeof(command), "exec softhca %s", words);
	out = popen(command, "r");
	REQUIRE(out);
	if (!fgets(line, size, out))
		*line = '\0';
	REQUIRE_EQ(pclose(out), 0);
	line[strcspn(line, "\n")] = '\0';
}

#define MAX_RECIPES	256

static char recipes[MAX_RECIPES][256];

/* All recipes, once: a process takes its time in an emulated guest. */
void fault_read_recipes(void)
{
	FILE *out = popen("exec softhca fault recipes", "r");
	int nr = 0;

	while (out && nr < MAX_RECIPES &&
	       fgets(recipes[nr], sizeof(recipes[nr]), out)) {
		recipes[nr][strcspn(recipes[nr], "\n")] = '\0';
		nr++;
	}
	if (out)
		pclose(out);
}

/* The words of the recipe that has the name of this test. */
static char *find_recipe(void)
{
	size_t length = strlen(test_name);
	static const char separator[] = ": softhca ";
	int i;

	for (i = 0; i < MAX_RECIPES && recipes[i][0]; i++)
		if (!strncmp(recipes[i], test_name, length) &&
		    !strncmp(recipes[i] + length, separator, strlen(separator)))
			return recipes[i] + length + strlen(separator);
	FAIL("no recipe has this name");
}

/* Makes the rule of the recipe, for the QP if it wants one. */
void fault_recipe(uint32_t qpn)
{
	const char *device = ibv_get_device_name(nic_a()->ctx->device);
	char words[512], recipe[256], *rest = recipe, *word;
	size_t used;

	snprintf(recipe, sizeof(recipe), "%s", find_recipe());
	fault_tool("fault del all");
	for (used = 0; (word = strsep(&rest, " "));) {
		if (!strcmp(word, "dev=DEV"))
			used += snprintf(words + used, sizeof(words) - used,
					 "dev=%s ", device);
		else if (!strcmp(word, "qpn=QPN"))
			used += snprintf(words + used, sizeof(words) - used,
					 "qpn=%u ", qpn);
		else
			used += snprintf(words + used, sizeof(words) - used,
					 "%s ", word);
	}
	fault_tool(words);
}

unsigned long long fault_hits(void)
{
	char line[512], *at;

	fault_ask("fault list", line, sizeof(line));
	at = strstr(line, " hits ");
	REQUIRE(at);
	return strtoull(at + 6, NULL, 10);
}

unsigned long long fault_counter(const char *name)
{
	char path[256], text[32] = "";
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path),
		 "/sys/class/infiniband/%s/ports/1/hw_counters/%s",
		 ibv_get_device_name(nic_a()->ctx->device), name);
	fd = open(path, O_RDONLY);
	REQUIRE(fd >= 0);
	len = read(fd, text, sizeof(text) - 1);
	REQUIRE(len > 0);
	close(fd);
	return strtoull(text, NULL, 10);
}
