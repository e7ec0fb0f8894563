"use strict";
const $ = id => document.getElementById(id);
const R = JSON.parse($("recording").textContent);
/* a row, as trace_html.c writes it */
const KIND = 0, NS = 1, FLIGHT = 2, BITS = 3, TONE = 4, FARTONE = 5, WR = 6, PSN = 7, LAST = 8, TEXT = 9, MORE = 10, FAR = 11;
const POST = 0, TX = 1, RX = 2, COMPLETE = 6, STATE = 7, IDLE = 11, CUT = 12;
const RIGHT = 1, LOST = 2, UNSEEN = 4, LATE = 8, AGAIN = 16, FAULT = 32, ANSWER = 64;
const tones = ["line", "ink", "soft", "ask", "answer", "again", "bad", "good", "memory"];
const BAD_TONE = 6, AGAIN_TONE = 5;
const kinds = ["posted", "packet sent", "packet received", "verdict", "packet refused", "time-out", "completion",
	"state", "event", "refused", "injected fault"];
/* a work request */
const ID = 0, WORD = 1, LEN = 2, STATUS = 3, POSTED = 4, DONE = 5, REPEATS = 6, CONN = 7, QPN = 8;

const us = ns => {
	const size = Math.abs(ns);
	return size < 999950 ? (ns / 1e3).toFixed(1) + " µs" : size < 999999500 ? (ns / 1e6).toFixed(3) + " ms" : (ns / 1e9).toFixed(6) + " s";
};
const rough = ns => ns < 1e6 ? +(ns / 1e3).toPrecision(3) + " µs" : ns < 1e9 ? +(ns / 1e6).toPrecision(3) + " ms" : +(ns / 1e9).toPrecision(3) + " s";
const isPacket = row => row[KIND] === TX || row[KIND] === RX;

/* ---- what is shown ------------------------------------------------------------- */

let C = null, rows = [], problems = [], sums = null;
let byTime = false, follow = -1, hover = -1;
let top_ = 0, span = 10;		/* in rows, or in nanoseconds */
let colours = {};

/* How many of each kind there are before each row: then a part of any size is counted at once. */
const S_BAD = 0, S_AGAIN = 1, S_ASK = 2, S_ANSWER = 3, S_DONE = 4, S_FAILED = 5, S_KINDS = 6;
function classOf(row) {
	if (row[KIND] === COMPLETE)
		return row[BITS] & FAULT ? S_FAILED : S_DONE;
	if (!isPacket(row))
		return -1;
	return row[TONE] === BAD_TONE ? S_BAD : row[TONE] === AGAIN_TONE ? S_AGAIN : row[BITS] & ANSWER ? S_ANSWER : S_ASK;
}
function choose() {
	const n = rows.length;
	problems = [];
	sums = Array.from({ length: 2 * S_KINDS }, () => new Uint32Array(n + 1));
	const count = new Uint32Array(2 * S_KINDS);
	for (let r = 0; r < n; r++) {
		const row = rows[r], c = classOf(row);
		if (c >= 0)
			count[c + (row[BITS] & RIGHT ? S_KINDS : 0)]++;
		for (let k = 0; k < count.length; k++)
			sums[k][r + 1] = count[k];
		if (row[TONE] === BAD_TONE || row[TONE] === AGAIN_TONE)
			problems.push(r);
	}
}

const place = r => byTime ? rows[r][NS] : r;
const begin = () => byTime && rows.length ? rows[0][NS] : 0;
const whole = () => byTime && rows.length ? Math.max(rows[rows.length - 1][NS] - begin(), 1000) : Math.max(rows.length, 10);

/* The first row at or behind a place */
function rowAt(at) {
	if (!byTime)
		return Math.min(rows.length, Math.max(0, Math.ceil(at)));
	let low = 0, high = rows.length;
	while (low < high) {
		const mid = (low + high) >> 1;
		if (rows[mid][NS] < at) low = mid + 1; else high = mid;
	}
	return low;
}

/* ---- drawing ------------------------------------------------------------------- */

const box = $("ladder"), canvas = box.firstChild, ctx = canvas.getContext("2d");
const HEAD = 52, ROW = 26, DENSE = 2, BIN = 3, PLAIN = "12px system-ui, sans-serif", BOLD = "650 12px system-ui, sans-serif";
let W = 0, H = 0, X = {};

function size(c, context) {
	const r = window.devicePixelRatio || 1, w = c.parentNode.clientWidth, h = c.parentNode.clientHeight;
	if (c.width !== Math.round(w * r) || c.height !== Math.round(h * r)) {
		c.width = Math.round(w * r);
		c.height = Math.round(h * r);
	}
	context.setTransform(r, 0, 0, r, 0, 0);
	return [w, h];
}

function theme() {
	const style = getComputedStyle(document.documentElement);
	for (const key of [...tones, "card", "hover", "band"])
		colours[key] = style.getPropertyValue("--" + key).trim();
}

const Y = r => HEAD + (place(r) - top_) / span * (H - HEAD);
const colourOf = row => colours[tones[row[TONE]]];

/* @text and @more, as far as there is room for them */
function fit(text, more, room) {
	if (more && text) {
		const all = text + ", " + more;
		if (ctx.measureText(all).width <= room) return all;
		const brief = text + " " + more.replace("took ", "");
		if (ctx.measureText(brief).width <= room) return brief;
	}
	let s = text || more;
	const chain = s.split(" → ");
	if (chain.length > 2 && ctx.measureText(s).width > room)
		s = chain[0] + " → … → " + chain[chain.length - 1];
	while (s.length > 4 && ctx.measureText(s).width > room)
		s = s.slice(0, s.length * .9 - 1 | 0) + "…";
	return s;
}

function label(s, x, y, align, colour, font = PLAIN) {
	ctx.font = font;
	ctx.textAlign = align;
	ctx.fillStyle = colour;
	ctx.fillText(s, x, y);
}

/* Texts of a column do not cover each other: the first one stays. */
let taken = {};
function isFree(column, y) {
	if (y - (taken[column] ?? -99) < 11.5)
		return false;
	taken[column] = y;
	return true;
}

function beside(right, text, more, y, colour, font = PLAIN) {
	if (!isFree(right ? "right" : "left", y))
		return;
	ctx.font = font;
	label(fit(text, more, X.room), right ? X.right + 12 : X.left - 12, y + 4, right ? "left" : "right", colour, font);
}

/* A note that is too long goes over the wire, where nothing else is in its row. */
function note(right, text, more, y, colour, font) {
	ctx.font = font;
	if (ctx.measureText(text).width <= X.room || text.includes(" → ") || y - (taken.wire ?? -99) < 11.5) {
		beside(right, text, more, y, colour, font);
	} else if (isFree(right ? "right" : "left", y) && isFree("wire", y)) {
		const s = fit(text, more, X.right - X.time - 40), wide = ctx.measureText(s).width, x = right ? W - 20 : X.time + 8;
		ctx.fillStyle = colours.card;
		ctx.fillRect(right ? x - wide - 4 : x - 2, y - 8, wide + 6, 16);
		label(s, x, y + 4, right ? "right" : "left", colour, font);
	}
}

function dot(x, y, colour, r) {
	ctx.fillStyle = colour;
	ctx.beginPath();
	ctx.arc(x, y, r, 0, 7);
	ctx.fill();
}

function drawPacket(r, row, y, pixels) {
	const right = row[BITS] & RIGHT, lost = row[BITS] & LOST, from = right ? X.right : X.left, ahead = right ? -1 : 1;
	const colour = colourOf(row);
	let to = right ? X.left : X.right;
	let end = y + (byTime ? row[FLIGHT] / span * (H - HEAD) : Math.min(12, pixels * (pixels < 22 ? .3 : .46)));
	if (lost) {
		to = from + (to - from) * .6;
		end = y + Math.min(7, pixels * .3);
	}
	ctx.strokeStyle = colour;
	ctx.lineWidth = r === hover ? 3.2 : pixels > 5 ? 1.8 : 1;
	if (row[BITS] & UNSEEN)
		ctx.setLineDash([5, 4]);
	ctx.beginPath();
	ctx.moveTo(from, y);
	ctx.lineTo(to - (pixels > 5 && !lost ? 4 * ahead : 0), end);
	ctx.stroke();
	ctx.setLineDash([]);
	const a = Math.atan2(end - y, to - from);
	ctx.beginPath();
	if (lost) {
		const s = pixels > 8 ? 5 : 2.5;
		ctx.moveTo(to - s, end - s); ctx.lineTo(to + s, end + s);
		ctx.moveTo(to - s, end + s); ctx.lineTo(to + s, end - s);
		ctx.stroke();
	} else if (pixels > 5) {
		ctx.fillStyle = colour;
		ctx.moveTo(to, end);
		ctx.lineTo(to - 10 * Math.cos(a - .4), end - 10 * Math.sin(a - .4));
		ctx.lineTo(to - 10 * Math.cos(a + .4), end - 10 * Math.sin(a + .4));
		ctx.fill();
	}
	if (pixels < 12)
		return;
	/* (steep arrows cross each other: their names are near the sender) */
	const part = end - y > 45 ? .25 : .5, at = y + (end - y) * part - 5.5;
	if (isFree("wire", at)) {
		ctx.font = PLAIN;
		const s = fit(row[TEXT], row[MORE], Math.abs(to - from) - (lost ? 12 : 30)), x = from + (to - from) * part;
		ctx.textAlign = "center";
		ctx.lineJoin = "round";
		ctx.strokeStyle = colours.card;
		ctx.lineWidth = 3;
		ctx.strokeText(s, x, at);
		ctx.fillStyle = colour === colours.answer ? colours.soft : colour;
		ctx.fillText(s, x, at);
	}
	if (lost)
		label("lost", to + 10 * ahead, end + 4, right ? "right" : "left", colours.bad, BOLD);
	else if (row[FAR] || row[BITS] & LATE)
		beside(!right, row[FAR], row[BITS] & LATE && !byTime ? "+" + us(row[FLIGHT]) : "", byTime || pixels >= 22 ? end : y,
			row[FARTONE] ? colours[tones[row[FARTONE]]] : colours.soft);
}

function drawIdle(row, y, pixels) {
	if (byTime)
		return;
	const h = Math.min(20, pixels * .8);
	ctx.fillStyle = colours.band;
	ctx.beginPath();
	ctx.roundRect(X.left - 4, y - h / 2 + 2, X.right - X.left + 8, h, Math.min(6, h / 2));
	ctx.fill();
	if (pixels >= 12 && isFree("wire", y + 6))
		label(row[TEXT], (X.left + X.right) / 2, y + 6, "center", colours.soft);
}

function drawRow(r, y, pixels) {
	const row = rows[r], right = row[BITS] & RIGHT, kind = row[KIND];
	if (kind === IDLE) {
		drawIdle(row, y, pixels);
		return;
	}
	if (kind === CUT) {
		ctx.fillStyle = colours.bad;
		ctx.fillRect(0, y, W, 1);
		label(row[TEXT], X.time + 8, y - 3, "left", colours.bad);
		return;
	}
	if (isPacket(row))
		drawPacket(r, row, y, pixels);
	else {
		const strong = kind === POST || kind === COMPLETE || kind === 5;
		if (strong || r === hover || pixels < 12)
			dot(right ? X.right : X.left, y, kind === POST ? colours.ask : colourOf(row), pixels > 5 ? (r === hover ? 7 : 5) : 2);
		if (pixels >= 12)
			note(right, row[TEXT], row[MORE], y, colourOf(row), strong ? BOLD : PLAIN);
	}
	if (pixels >= 5 && y > HEAD && isFree("time", y))
		label(us(row[NS] - R.zero), X.time, y + 4, "right", colours.soft, "11px system-ui, sans-serif");
}

/* Many rows in each line: how many packets and completions there are of each kind */
function drawDensity() {
	const bins = Math.ceil((H - HEAD) / BIN), at = new Uint32Array(bins + 1);
	for (let b = 0; b <= bins; b++)
		at[b] = rowAt(top_ + b * BIN / (H - HEAD) * span);
	let most = 1, mostDone = 1;
	const of = (kind, b) => sums[kind][at[b + 1]] - sums[kind][at[b]];
	for (let b = 0; b < bins; b++)
		for (const s of [0, S_KINDS]) {
			most = Math.max(most, of(s + S_BAD, b) + of(s + S_AGAIN, b) + of(s + S_ASK, b) + of(s + S_ANSWER, b));
			mostDone = Math.max(mostDone, of(s + S_DONE, b) + of(s + S_FAILED, b));
		}
	const half = (X.right - X.left) / 2 - 4, room = X.room * .6;
	const bar = (x, ahead, y, length, colour) => {
		ctx.globalAlpha = colour === colours.bad || colour === colours.again ? 1 : .6;
		ctx.fillStyle = colour;
		ctx.fillRect(ahead > 0 ? x : x - length, y, length, BIN - .6);
		return x + ahead * length;
	};
	for (let b = 0; b < bins; b++) {
		const y = HEAD + b * BIN;
		for (const s of [0, S_KINDS]) {
			const ahead = s ? -1 : 1, lane = s ? X.right : X.left;
			let x = lane + 3 * ahead;
			for (const [kind, colour, least] of [[S_BAD, colours.bad, 4], [S_AGAIN, colours.again, 4], [S_ASK, colours.ask, 0], [S_ANSWER, colours.answer, 0]]) {
				const n = of(s + kind, b);
				if (n)
					x = bar(x, ahead, y, Math.max(least, n / most * half), colour);
			}
			x = lane - 5 * ahead;
			for (const [kind, colour, least] of [[S_FAILED, colours.bad, 4], [S_DONE, colours.good, 0]]) {
				const n = of(s + kind, b);
				if (n)
					x = bar(x, -ahead, y, Math.max(least, n / mostDone * room), colour);
			}
		}
		ctx.globalAlpha = 1;
		if (at[b] < rows.length && isFree("time", y) && b % 8 === 0)
			label(us(rows[at[b]][NS] - R.zero), X.time, y + 8, "right", colours.soft, "11px system-ui, sans-serif");
	}
	return byTime ? rough(span / (H - HEAD) * BIN) : Math.max(1, Math.round(span / (H - HEAD) * BIN)) + " events";
}

function drawHead(each) {
	ctx.fillStyle = colours.card;
	ctx.fillRect(0, 0, W, HEAD);
	ctx.fillStyle = colours.line;
	ctx.fillRect(0, HEAD - 1, W, 1);
	label(C.left, X.left, 22, "center", colours.ink, "650 13px system-ui, sans-serif");
	label(C.right, X.right, 22, "center", colours.ink, "650 13px system-ui, sans-serif");
	label(each ? "packets, lost, sent again" : "wire", (X.left + X.right) / 2, 40, "center", colours.soft);
	label(each ? "completions" : "CQ, memory", X.left - 12, 40, "right", colours.soft);
	label(each ? "completions" : "memory, CQ", X.right + 12, 40, "left", colours.soft);
	label(each ? "a line: " + each : "time", each ? 8 : X.time, 40, each ? "left" : "right", colours.soft);
}

function draw() {
	[W, H] = size(canvas, ctx);
	ctx.fillStyle = colours.card;
	ctx.fillRect(0, 0, W, H);
	if (!C)
		return;
	const time = 74, side = Math.max(Math.min(176, W * .26), Math.min(250, W * .235));
	X = { time, left: time + side, right: W - 16 - side, room: side - 14 };
	taken = {};
	/* (in time, arrows may come from above what is seen) */
	const first = Math.max(0, rowAt(top_ - (byTime ? span * .3 : 1)) - 1), last = Math.min(rows.length, rowAt(top_ + span) + 1);
	const pixels = byTime ? (H - HEAD) / Math.max(1, last - first) : (H - HEAD) / span;
	ctx.fillStyle = colours.line;
	ctx.fillRect(X.left - 1.5, HEAD, 3, H - HEAD);
	ctx.fillRect(X.right - 1.5, HEAD, 3, H - HEAD);
	let each = "";
	if (pixels < DENSE) {
		each = drawDensity();
	} else {
		/* what is followed is drawn last */
		for (const dim of follow >= 0 ? [true, false] : [false]) {
			ctx.globalAlpha = dim ? .15 : 1;
			taken = dim ? {} : { time: taken.time };
			for (let r = first; r < last; r++) {
						if (follow >= 0 && (rows[r][WR] === follow) === dim)
					continue;
				drawRow(r, Y(r), byTime ? Math.max(pixels, 12) : pixels);
			}
		}
		ctx.globalAlpha = 1;
	}
	drawHead(each);
	drawStrip();
}

/* What changes seldom is drawn once, into a picture of its own. */
const kept = {};
function keptPicture(name, key, w, h, paint) {
	const r = window.devicePixelRatio || 1, all = [key, w, h, r, C.id, byTime, colours.card].join();
	if (!kept[name] || kept[name].key !== all) {
		const picture = document.createElement("canvas"), context = picture.getContext("2d");
		picture.width = Math.max(1, Math.round(w * r));
		picture.height = Math.max(1, Math.round(h * r));
		context.setTransform(r, 0, 0, r, 0, 0);
		paint(context);
		kept[name] = { key: all, picture };
	}
	return kept[name].picture;
}

/* The strip at the right edge: where we are, and where the problems are */
function drawStrip() {
	const h = H - HEAD - 8, x = W - 12, all = whole(), from = begin();
	ctx.drawImage(keptPicture("strip", "", 8, h, to => {
		to.globalAlpha = .5;
		to.fillStyle = colours.line;
		to.fillRect(0, 0, 8, h);
		to.globalAlpha = 1;
		for (const tone of [AGAIN_TONE, BAD_TONE]) {
			let told = -1;
			to.fillStyle = colours[tones[tone]];
			for (const r of problems) {
				const y = Math.round((place(r) - from) / all * h);
				if (rows[r][TONE] !== tone || y === told)
					continue;
				to.fillRect(0, y, 8, 1.5);
				told = y;
			}
		}
	}), x, HEAD + 4, 8, h);
	ctx.fillStyle = colours.soft;
	ctx.globalAlpha = .45;
	ctx.fillRect(x, Math.max(HEAD + 4, HEAD + 4 + (top_ - from) / all * h), 8, Math.max(4, Math.min(span / all, 1) * h));
	ctx.globalAlpha = 1;
}

/* ---- PSN over time --------------------------------------------------------------- */

const graph = $("graph").firstChild, gtx = graph.getContext("2d");
const GRAPH_LEFT = 46;
let T = [0, 1];			/* the times of its edges */

function paintGraph(to, w, h) {
	const low = h - 18, width = w - GRAPH_LEFT - 8;
	let max = 1;
	for (const row of rows)
		if (row[KIND] === TX)
			max = Math.max(max, row[LAST] + 1);
	const x = t => GRAPH_LEFT + (t - T[0]) / (T[1] - T[0]) * width, y = p => low - Math.max(0, p) / max * (low - 8);
	to.font = "10px system-ui, sans-serif";
	const steps = Math.min(4, max);
	for (let k = 0; k <= steps; k++) {
		const yy = Math.round(y(max * k / steps));
		to.fillStyle = colours.line;
		to.fillRect(GRAPH_LEFT, yy, width, 1);
		to.fillStyle = colours.soft;
		to.textAlign = "right";
		to.fillText("#" + Math.round(max * k / steps), GRAPH_LEFT - 6, yy + 3);
	}
	to.textAlign = "left";
	to.fillText(us(T[0] - R.zero), GRAPH_LEFT, h - 4);
	to.textAlign = "right";
	to.fillText(us(T[1] - R.zero), w - 8, h - 4);
	const many = C.sum.packets > 600, size = many ? 2 : 4;
	for (const odd of [false, true]) {
		/* (what is in the same place is drawn once) */
		const there = new Uint8Array(Math.ceil(w) * Math.ceil(h));
		for (const row of rows) {
			if (row[KIND] !== TX || row[PSN] < 0 || (row[TONE] === BAD_TONE || row[TONE] === AGAIN_TONE) !== odd)
				continue;
			const px = x(row[NS]) | 0, py = y(row[BITS] & ANSWER ? row[PSN] : row[LAST]) | 0, at = py * Math.ceil(w) + px;
			if (there[at] && follow < 0)
				continue;
			there[at] = 1;
			to.globalAlpha = follow >= 0 && row[WR] !== follow ? .18 : 1;
			to.fillStyle = colourOf(row);
			to.fillRect(px - size / 2, py - size / 2, size, odd ? size + 1 : size);
		}
	}
}

function drawGraph() {
	const [w, h] = size(graph, gtx);
	gtx.clearRect(0, 0, w, h);
	if (!C || !rows.length)
		return;
	T = [rows[0][NS], Math.max(rows[rows.length - 1][NS], rows[0][NS] + 1000)];
	if (C.sum.requests)
		T[0] = Math.max(T[0], Math.min(R.zero, T[1] - 1000));
	gtx.drawImage(keptPicture("graph", follow, w, h, to => paintGraph(to, w, h)), 0, 0, w, h);
	/* the part that the ladder shows */
	const at = p => byTime ? p : rows[Math.min(rows.length - 1, Math.max(0, Math.floor(p)))][NS];
	const x = t => Math.min(w - 8, Math.max(GRAPH_LEFT, GRAPH_LEFT + (t - T[0]) / (T[1] - T[0]) * (w - GRAPH_LEFT - 8)));
	gtx.fillStyle = colours.ask;
	gtx.globalAlpha = .12;
	gtx.fillRect(x(at(top_)), 4, Math.max(2, x(at(top_ + span)) - x(at(top_))), h - 22);
	gtx.globalAlpha = 1;
}

/* ---- numbers, work requests ------------------------------------------------------- */

const escape = s => s.replace(/[&<>"]/g, c => "&#" + c.charCodeAt(0) + ";");
const plainWord = s => s.replace(/RDMA_/g, "").replace(/_/g, " ");

function sum() {
	const s = C.sum, cell = (n, what, mark) => `<span><b class="${n && mark || ""}">${n}</b><small>${what}</small></span>`;
	document.title = C.headline;
	$("headline").textContent = C.headline.replace(/-/g, "\u2011").replace(/(\d) /g, "$1\u00a0");	/* (no line ends there) */
	$("about").textContent = C.about;
	$("numbers").innerHTML = cell(s.events, "events") + cell(s.packets, "packets") + cell(s.again, "sent again", "again") +
		cell(s.lost, "lost", "bad") + cell(s.waits, "RNR waits", "bad") + cell(s.timeouts, "time-outs", "bad") + cell(s.failed, "failed", "bad");
}

/* A list of any length, of which only what is seen is in the document */
const LINE = 24;
let lines = [], cells = null;
function drawList() {
	const list = $("list"), from = Math.max(0, Math.floor(list.scrollTop / LINE) - 4);
	const part = lines.slice(from, from + Math.ceil(list.clientHeight / LINE) + 8);
	list.firstChild.style.height = Math.max(1, lines.length * LINE) + "px";
	list.firstChild.innerHTML = `<div style="position:absolute;left:0;right:0;top:${from * LINE}px">` +
		part.map(k => `<div class="row" data-k="${k}">${cells(k).map(c => `<span>${c}</span>`).join("")}</div>`).join("") + "</div>";
}
function setList(which, columns, head, toCells) {
	lines = which;
	cells = toCells;
	$("list").style.setProperty("--columns", columns);
	$("what").style.setProperty("--columns", columns);
	$("what").innerHTML += `<div class="row head">${head.map(h => `<span>${h}</span>`).join("")}</div>`;
	$("list").scrollTop = 0;
	drawList();
}

function side() {
	$("clear").hidden = follow < 0;
	if (follow < 0) {
		const wrs = [];
		R.wrs.forEach((wr, k) => {
			if (wr[CONN] === C.id)
				wrs.push(k);
		});
		$("what").innerHTML = "<h2>Work requests</h2>";
		setList(wrs, "1fr 1.1fr .75fr 1.45fr .9fr", ["wr_id", "operation", "bytes", "took", ""], k => {
			const wr = R.wrs[k];
			return [wr[ID], escape(plainWord(wr[WORD])), wr[LEN], wr[DONE] >= 0 ? us(wr[DONE] - wr[POSTED]) : "–",
				wr[STATUS] && wr[STATUS] !== "SUCCESS" ? `<span class="bad" title="${escape(wr[STATUS])}">${escape(wr[STATUS])}</span>` :
				wr[REPEATS] ? `<span class="again" title="packets sent again">${wr[REPEATS]} again</span>` : ""];
		});
		return;
	}
	const wr = R.wrs[follow], list = [];
	rows.forEach((row, r) => {
		if (row[WR] === follow)
			list.push(r);
	});
	$("what").innerHTML = `<h2>Work request ${wr[ID]}</h2><dl>
		<dt>operation</dt><dd>${escape(plainWord(wr[WORD]))}, ${wr[LEN]} bytes</dd>
		<dt>queue pair</dt><dd>${wr[QPN]}</dd>
		<dt>status</dt><dd class="${wr[STATUS] === "SUCCESS" ? "good" : wr[STATUS] ? "bad" : ""}">${escape(wr[STATUS]) || "no completion of its own"}</dd>
		<dt>took</dt><dd>${wr[DONE] >= 0 ? us(wr[DONE] - wr[POSTED]) : "–"}</dd>
		<dt>packets again</dt><dd class="${wr[REPEATS] ? "again" : ""}">${wr[REPEATS]}</dd></dl>`;
	setList(list, "90px 1fr", ["after", "event"], r => ["+" + us(rows[r][NS] - wr[POSTED]), escape(rows[r][TEXT] + (rows[r][FAR] ? ": " + rows[r][FAR] : ""))]);
}

/* ---- moving ---------------------------------------------------------------------- */

let waiting = false;
function paint() {
	waiting = false;
	draw();
	drawGraph();
}
function refresh() {
	if (!waiting) {
		waiting = true;
		requestAnimationFrame(paint);
	}
}

function limit() {
	const all = whole(), from = begin();
	span = Math.min(Math.max(span, byTime ? 200 : 4), all * 1.04 + (byTime ? 0 : 1));
	top_ = Math.min(Math.max(top_, from - (byTime ? all * .02 : 1)), Math.max(from - (byTime ? all * .02 : 1), from + all * 1.02 - span));
}

function zoom(factor, at = .5) {
	const fixed = top_ + span * at;
	span *= factor;
	limit();
	top_ = fixed - span * at;
	limit();
	refresh();
}
function scroll(part) {
	top_ += part * span;
	limit();
	refresh();
}

function comfortable() {	/* rows that can be read */
	top_ = byTime ? begin() - whole() * .01 : -1;
	span = byTime ? whole() * 1.03 : Math.max(8, (box.clientHeight - HEAD) / ROW);
}
function showAll() {
	top_ = begin() - whole() * .02;
	span = whole() * 1.04;
	limit();
	refresh();
}

function go(r) {
	top_ = place(r) - span * .35;
	hover = r;
	limit();
	refresh();
}

function setFollow(k) {
	follow = k;
	if (k >= 0) {
		const from = R.wrs[k][POSTED], to = Math.max(R.wrs[k][DONE], from + 1000);
		if (byTime) {
			span = (to - from) * 1.3;
			top_ = from - span * .1;
			limit();
		} else {
			const r = rows.findIndex(row => row[WR] === k);
			if (r >= 0 && (r < top_ || r > top_ + span))
				go(r);
		}
	}
	side();
	refresh();
}

function setConn(c) {
	C = c;
	rows = c.rows;
	follow = hover = problem = -1;
	choose();
	comfortable();
	sum();
	side();
	refresh();
}

function setScale(t) {
	const at = Math.min(rows.length - 1, Math.max(0, rowAt(top_ + span * .35)));
	byTime = t;
	$("time").setAttribute("aria-pressed", t);
	$("order").setAttribute("aria-pressed", !t);
	comfortable();
	if (!t && at > 0)
		top_ = at - span * .35;
	limit();
	refresh();
}

let problem = -1;
function nextProblem() {
	if (!problems.length)
		return;
	problem = (problem + 1) % problems.length;
	if (!byTime && (H - HEAD) / span < 12)
		span = (H - HEAD) / ROW;
	go(problems[problem]);
}

/* The row under the pointer; -1 where a line stands for many */
function nearest(mx, my) {
	const first = rowAt(top_ - (byTime ? span * .3 : 1)), last = Math.min(rows.length, rowAt(top_ + span) + 1);
	if ((H - HEAD) / Math.max(1, byTime ? last - first : span) < DENSE || my < HEAD)
		return -1;
	let best = -1, distance = 12;
	for (let r = Math.max(0, first - 1); r < last; r++) {
		const row = rows[r], y = Y(r);
		if (row[KIND] >= IDLE)
			continue;
		let d = Math.abs(y - my);
		if (isPacket(row) && mx > X.left && mx < X.right) {
			const end = byTime ? row[FLIGHT] / span * (H - HEAD) : Math.min(12, (H - HEAD) / span * .46);
			const part = (mx - X.left) / (X.right - X.left);
			d = Math.abs(y + end * (row[BITS] & RIGHT ? 1 - part : part) - my);
		}
		if (follow >= 0 && row[WR] !== follow)
			d += 4;
		if (d < distance) {
			distance = d;
			best = r;
		}
	}
	return best;
}

let fields = null;
function tip(r, x, y) {
	const t = $("tip");
	if (r < 0) {
		t.style.display = "none";
		return;
	}
	fields = fields || JSON.parse($("fields").textContent);
	const row = rows[r], wr = row[WR] >= 0 ? R.wrs[row[WR]] : null;
	t.innerHTML = `<b>${kinds[row[KIND]]}: ${escape(row[TEXT])}</b> at ${us(row[NS] - R.zero)}` +
		(row[FLIGHT] ? `<br>on its way for ${us(row[FLIGHT])}` : "") + (row[FAR] ? `<br>the receiver: ${escape(row[FAR])}` : "") +
		(wr ? `<br>work request ${wr[ID]}, ${escape(plainWord(wr[WORD]))}, ${wr[LEN]} bytes` : "") +
		`<div class="f">${escape(fields[R.conns.indexOf(C)][r])}</div>`;
	t.style.display = "block";
	t.style.left = Math.min(x + 14, innerWidth - t.offsetWidth - 8) + "px";
	t.style.top = Math.min(y + 14, innerHeight - t.offsetHeight - 8) + "px";
}

/* ---- the pointer and the keys ------------------------------------------------------ */

let drag = null, moved = 0;
box.addEventListener("wheel", ev => {
	ev.preventDefault();
	const r = box.getBoundingClientRect(), at = Math.max(0, (ev.clientY - r.top - HEAD) / (H - HEAD));
	const pixels = (ev.deltaY || ev.deltaX) * (ev.deltaMode ? 30 : 1);
	if (ev.ctrlKey || ev.metaKey || ev.altKey)
		zoom(Math.exp(pixels * .0025), at);
	else
		scroll(pixels / (H - HEAD));
}, { passive: false });
box.addEventListener("pointerdown", ev => {
	const r = box.getBoundingClientRect();
	drag = { y: ev.clientY, top: top_, strip: ev.clientX - r.left > W - 18 };
	moved = 0;
	box.setPointerCapture(ev.pointerId);
});
box.addEventListener("pointermove", ev => {
	const r = box.getBoundingClientRect();
	if (drag) {
		moved = Math.max(moved, Math.abs(ev.clientY - drag.y));
		if (drag.strip)
			top_ = begin() + (ev.clientY - r.top - HEAD) / (H - HEAD) * whole() - span / 2;
		else if (moved > 3)
			top_ = drag.top - (ev.clientY - drag.y) / (H - HEAD) * span;
		box.classList.toggle("drag", moved > 3);
		limit();
		refresh();
		return;
	}
	const at = nearest(ev.clientX - r.left, ev.clientY - r.top);
	tip(at, ev.clientX, ev.clientY);
	if (at !== hover) {
		hover = at;
		refresh();
	}
});
box.addEventListener("pointerup", ev => {
	const r = box.getBoundingClientRect();
	box.classList.remove("drag");
	if (drag && moved <= 3 && !drag.strip) {
		const at = nearest(ev.clientX - r.left, ev.clientY - r.top);
		setFollow(at >= 0 && rows[at][WR] !== follow ? rows[at][WR] : -1);
	}
	drag = null;
});
box.addEventListener("pointerleave", () => tip(-1));
$("graph").addEventListener("click", ev => {
	const t = T[0] + (ev.offsetX - GRAPH_LEFT) / (graph.parentNode.clientWidth - GRAPH_LEFT - 8) * (T[1] - T[0]);
	const kept = byTime;
	byTime = true;		/* rows are found by their time */
	const r = Math.min(rows.length - 1, rowAt(t));
	byTime = kept;
	go(r);
});
$("list").addEventListener("scroll", drawList);
$("list").addEventListener("click", ev => {
	const line = ev.target.closest("[data-k]");
	if (!line)
		return;
	if (follow < 0)
		setFollow(+line.dataset.k);
	else
		go(+line.dataset.k);
});
$("conn").addEventListener("change", ev => setConn(R.conns[ev.target.value]));
$("order").onclick = () => setScale(false);
$("time").onclick = () => setScale(true);
$("in").onclick = () => zoom(.6);
$("out").onclick = () => zoom(1 / .6);
$("all").onclick = showAll;
$("next").onclick = nextProblem;
$("clear").onclick = () => setFollow(-1);
$("find").addEventListener("keydown", ev => {
	if (ev.key === "Enter" && C)
		setFollow(R.wrs.findIndex(wr => wr[CONN] === C.id && Number(wr[ID]) === Number(ev.target.value)));
});
addEventListener("keydown", ev => {
	if (ev.target.tagName === "INPUT" || ev.target.tagName === "SELECT")
		return;
	const act = { "+": () => zoom(.6), "=": () => zoom(.6), "-": () => zoom(1 / .6), "0": showAll, n: nextProblem,
		Escape: () => setFollow(-1), ArrowDown: () => scroll(.1), ArrowUp: () => scroll(-.1), PageDown: () => scroll(.9),
		PageUp: () => scroll(-.9), Home: () => { top_ = begin() - 1; limit(); refresh(); },
		End: () => { top_ = begin() + whole(); limit(); refresh(); } }[ev.key];
	if (act && C && !ev.ctrlKey && !ev.metaKey) {
		ev.preventDefault();
		act();
	}
});
addEventListener("resize", () => { refresh(); drawList(); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { theme(); refresh(); });

/* ---- the beginning ------------------------------------------------------------------ */

theme();
R.conns.map((c, i) => [c, i]).sort((a, b) => b[0].sum.requests - a[0].sum.requests || b[0].sum.events - a[0].sum.events).forEach(([c, i]) => {
	const o = document.createElement("option");
	o.value = i;
	o.textContent = `${c.left} ↔ ${c.right}  (${c.sum.requests} requests)`;
	$("conn").append(o);
});
$("conn").hidden = R.conns.length < 2;
if (R.lost)
	$("lost").textContent = R.lost + " events are lost";
if (R.conns.length) {
	setConn(R.conns[$("conn").value]);
	paint();
} else {
	$("what").innerHTML = "<p>No queue pair has events in this recording.</p>";
}
const told = document.body.dataset;
told.paint = Math.round(performance.now());
told.events = R.conns.reduce((n, c) => n + c.sum.events, 0);
