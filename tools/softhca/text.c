// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Texts of others, which may be any bytes: names, files of the kernel. Nothing of them reaches
 * the terminal, or JSON, as anything but text.
 */
#include "softhca.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

bool text_is_c1(const char *s)
{
	const unsigned char *c = (const unsigned char *)s;

	return c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0;
}

size_t text_length(const char *s)
{
	const unsigned char *c = (const unsigned char *)s;
	size_t length = *c >= 0xf0 ? 4 : *c >= 0xe0 ? 3 : 2, i;

	if (*c < 0x80)
		return *c >= ' ' && *c != 0x7f;
	/* One that is longer than needed may be a control character to a terminal. */
	if (*c < 0xc2 || *c > 0xf4 || text_is_c1(s) || (*c == 0xe0 && c[1] < 0xa0) ||
	    (*c == 0xf0 && c[1] < 0x90))
		return 0;
	for (i = 1; i < length; i++)
		if ((c[i] & 0xc0) != 0x80)
			return 0;
	return length;
}

void text_clean(char *text)
{
	size_t length;

	while (*text) {
		length = text_length(text);
		if (length)
			text += length;
		else
			*text++ = '?';
	}
}

/*
 * Users choose names, so print them in a way that cannot break the syntax: JSON is UTF-8, and
 * a name may be any bytes.
 */
void print_json_string(const char *s)
{
	size_t length;

	putchar('"');
	while (*s) {
		length = text_length(s);
		if (*s == '"' || *s == '\\')
			printf("\\%c", *s);
		else if (length)
			fwrite(s, 1, length, stdout);
		else if (text_is_c1(s))
			printf("\\u%04x", (unsigned char)s[1]);
		else if ((unsigned char)*s < 0x80)
			printf("\\u%04x", *s);
		else
			fputs("\\ufffd", stdout);
		s += length ? length : text_is_c1(s) ? 2u : 1u;
	}
	putchar('"');
}

void file_line(const char *path, char *line, size_t size)
{
	FILE *file = fopen(path, "r");

	*line = '\0';
	if (!file)
		return;
	if (fgets(line, size, file))
		line[strcspn(line, "\n")] = '\0';
	else
		*line = '\0';
	fclose(file);
}

void process_comm(unsigned int pid, char *comm, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	*comm = '\0';
	if (pid)
		file_line(path, comm, size);
	text_clean(comm);
}

static int is_visible(const struct dirent *entry)
{
	return *entry->d_name != '.';
}

void folder_names(const char *path, void (*each)(const char *name, void *arg), void *arg)
{
	struct dirent **entry;
	int i, nr = scandir(path, &entry, is_visible, alphasort);

	for (i = 0; i < nr; i++) {
		each(entry[i]->d_name, arg);
		free(entry[i]);
	}
	if (nr >= 0)
		free(entry);
}
