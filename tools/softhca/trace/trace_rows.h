/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a ladder shows, row by row, in words: the terminal, the SVG and the page draw these
 * rows, each in its way.
 */
#ifndef SOFTHCA_TRACE_ROWS_H
#define SOFTHCA_TRACE_ROWS_H

#include "trace_model.h"

/* What colour a text or an arrow has; the page and the SVG have classes of these names. */
enum trace_tone {
	TONE_NONE,
	TONE_INK,
	TONE_SOFT,
	TONE_ASK,
	TONE_ANSWER,
	TONE_AGAIN,
	TONE_BAD,
	TONE_GOOD,
	TONE_MEMORY,
	NR_TONES
};

enum trace_row_kind {
	ROW_HEAD,	/* the rows that follow are those of another connection */
	ROW_NOTE,	/* beside the lane of a queue pair */
	ROW_PACKET,	/* from one lane to the other */
	ROW_IDLE,	/* nothing has happened for @flight */
	ROW_CUT,	/* events are lost before the next row */
	NR_ROW_KINDS
};

/*
 * A row of the ladder.
 * @event:	the one that it tells of, or -1
 * @right:	the note is at the right lane, or the packet comes from there
 * @lost:	the arrow ends before it arrives
 * @unseen:	the packet arrived, and its sender is not in the recording
 * @late:	the packet was much longer under way than events are apart
 * @dot:	colour of a dot on the lane, or TONE_NONE
 * @ns:		of the event, since the first one
 * @flight:	how long the packet was under way, or 0
 * @text:	"post SEND 0x2", "SEND MIDDLE #1"; of ROW_HEAD the left name
 * @more:	what may be left out where it is narrow: "3000 B"; of ROW_HEAD the right name
 * @far:	where the packet arrives: "placed 1024 B", "out-of-sequence"
 */
struct trace_row {
	enum trace_row_kind kind;
	enum trace_tone tone, far_tone, dot;
	int event;
	bool right, lost, unseen, late;
	uint64_t ns, flight;
	const char *text, *more, *far;
};

/* What the rows are about, in numbers */
struct trace_sum {
	int events, requests, packets, lost, again, waits, timeouts, failed;
	int slowest;		/* index of a work request, or -1 */
	uint64_t span_ns, slowest_ns, median_ns;
};

/*
 * A ladder.
 * @headline:	"4 requests in 5.263 ms: 1 packet lost, 1 sent again; slowest ..."
 * @about:	whose, and how times and PSNs count
 */
struct trace_rows {
	struct trace_row *row;
	int nr;
	struct trace_sum sum;
	char headline[320], about[320];
	struct trace_text *texts;	/* what the rows point into */
};

/* Make the ladder of the events @event[0 .. nr - 1], which trace_rows_free() frees. */
struct trace_rows *trace_rows(const struct trace *trace, const int *event, int nr);
void trace_rows_free(struct trace_rows *rows);
/* The events to be shown, in an array that the caller frees. Return: how many. */
int trace_wanted(const struct trace *trace, const struct trace_choice *choice, int **event);
/* Is the event at the right lane?  A packet that is sent comes from there. */
bool trace_is_right(const struct trace *trace, const struct trace_event *e);

#endif
