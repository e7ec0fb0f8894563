// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Prints each argument, which is any bytes in hexadecimal, as print_json_string() does. */
#include "softhca.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	char text[256];
	int i, at, used;
	unsigned int byte;

	for (i = 1; i < argc; i++) {
		for (at = 0; at < 255 && sscanf(argv[i] + 2 * at, "%2x%n", &byte, &used) == 1 && used == 2; at++)
			text[at] = byte;
		text[at] = '\0';
		print_json_string(text);
		putchar('\n');
	}
	return 0;
}
