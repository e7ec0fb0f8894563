/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What `softhca trace record` and `show` share. trace_file.c reads a recording into
 * a struct trace, trace_model.c finds out what belongs together, and the other
 * files draw it.
 */
#ifndef SOFTHCA_TRACE_H
#define SOFTHCA_TRACE_H

#include "../softhca.h"
#include "trace_rows.h"

/* The default file of a recording, as of trace-cmd(1) */
#define TRACE_FILE	"trace.dat"

/* Text of the marker that record writes for each QP that exists, and at its end */
#define TRACE_MARK_QP	"softhca: qp dev="
#define TRACE_MARK_LOST	"softhca: lost "

/* trace_record.c */

struct tracefs_instance;

/* Run `softhca trace record`. */
int trace_record_run(const struct call *call);
/*
 * Make a tracing instance of this process, with a clock for all CPUs. What a killed process has
 * left is removed.
 * Return: NULL if there can be none.
 */
struct tracefs_instance *trace_instance(void);
/* Remove the instance; NULL is ignored. */
void trace_instance_end(struct tracefs_instance *instance);

/* trace_file.c */

/* Read a recording. Return: 0, or an exit status after a message. */
int trace_read(const char *path, struct trace *trace);
/* Forget it all. */
void trace_free(struct trace *trace);

/* trace_packet.c */

/* Bytes of the longest transport headers: BTH, XRCETH, AtomicETH */
#define TRACE_HDR_MAX	44

/* Bytes of the headers that follow the BTH of this opcode. */
unsigned int trace_ext_bytes(unsigned int opcode);
/* " va=0x1000 rkey=0x12??????": what @hdr has beyond the event's fields. */
const char *trace_headers_text(const struct trace_event *e, char *text, size_t size);
/* A packet's fields as text. */
const char *trace_packet_info(const struct trace_event *e, char *text, size_t size);

/* trace_json.c */

/* Write a JSON string; safe inside a script element of HTML. */
void trace_json_string(FILE *out, const char *s);

/* Each writes the recording in its form. */
typedef void trace_writer(FILE *out, const struct trace *trace,
			  const struct trace_choice *choice);
trace_writer trace_to_text;	/* trace_text.c */
trace_writer trace_to_html;	/* trace_html.c */
trace_writer trace_to_svg;	/* trace_svg.c */
trace_writer trace_to_json;	/* trace_json.c */
trace_writer trace_to_pcapng;	/* trace_pcapng.c */

#endif
