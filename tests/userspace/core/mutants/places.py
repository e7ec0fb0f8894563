# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Where the core can be broken: one Mutant for each small change of its sources.

libclang tells statements, conditions and function bodies; within those the operators
and constants are found as tokens, which also sees into the arguments of macros.
Nothing here runs or compiles a mutant.
"""
import bisect
import hashlib
import re
from dataclasses import dataclass

from clang.cindex import BinaryOperator, CursorKind as K, Index, TokenKind
from clang.cindex import TranslationUnit

# Comparisons move their boundary or turn round, arithmetic does the opposite.
OPERATORS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
    "+": "-", "-": "+", "*": "+", "/": "*", "+=": "-=", "-=": "+=",
    "++": "--", "--": "++", "<<": ">>", ">>": "<<", "<<=": ">>=", ">>=": "<<=",
    "&": "|", "|": "&", "^": "|", "&=": "|=", "|=": "&=", "^=": "|=",
}
# These are operators of two sides only behind the end of an operand.
TWO_SIDED = {"+", "-", "*", "&"}
TYPES = {"u8", "u16", "u32", "u64", "s32", "bool", "void", "const"}
# What may stand alone as a statement, and so may be left out.
DROPPED = {K.BINARY_OPERATOR, K.COMPOUND_ASSIGNMENT_OPERATOR, K.UNARY_OPERATOR,
           K.CALL_EXPR, K.BREAK_STMT, K.CONTINUE_STMT}
# the rooms of the core; no two of their files have one name
ROOMS = ("core", "core/responder", "core/requester", "ib/core")
LOOPS = {K.WHILE_STMT, K.DO_STMT, K.FOR_STMT}
CONSTANT = re.compile(r"^[A-Z][A-Z0-9_]+$")
FLAG = re.compile(r"^\(?\s*(?:\(u32\))?1u?l?l?\s*<<\s*\d+\s*\)?$")
LITERAL = re.compile(r"^(0[xX][0-9a-fA-F]+|\d+)([uUlL]*)$")
# A statement longer than this is cut in a mutant's key, on either side.
CONTEXT = 70


@dataclass(frozen=True)
class Mutant:
    """Replace [start, end) of @file by @new.

    @key is its name: function, statement and change as text, so it survives changes
    elsewhere in the file; @line is for the reader only.
    """
    file: str
    line: int
    start: int
    end: int
    new: str
    kind: str
    key: str

    def apply(self, source):
        return source[:self.start] + self.new + source[self.end:]

    def rank(self, seed):
        """The order in which mutants are drawn, the same whatever else changes."""
        text = f"{seed} {self.key}".encode()
        return hashlib.sha256(text).digest()


def flags_of(paths):
    """The names of macros and enumerators, and whether each is a single bit."""
    known = {}
    for path in paths:
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
        for name, value in re.findall(r"^#define[ \t]+(\w+)[ \t]+(\S.*)$", text,
                                      re.M):
            if CONSTANT.match(name):
                known[name] = bool(FLAG.match(value.strip()))
        for body in re.findall(r"\benum\b[^;{]*\{(.*?)\}", text, re.S):
            for name, value in re.findall(r"(\w+)\s*(=[^,]*)?(?:,|$)", body):
                if CONSTANT.match(name):
                    known[name] = bool(value and
                                       FLAG.match(value.lstrip("= ").strip()))
    return known


class Source:
    """One file of the core, and the mutants that can be made of it.

    @name and @args are for files elsewhere: what a mutant calls its file, and how the
    compiler is called. (clang does not understand all of a kernel's headers: with @args
    an error is none of ours.)
    """

    def __init__(self, path, known, name=None, args=None):
        self.name = name or path.name
        self.text = path.read_text()
        if not self.text.isascii():
            raise SystemExit(f"{path}: offsets need ASCII")
        self.known = known
        # Hints of branches are macros, and a node within has no place of its own.
        view = re.sub(r"\b(un)?likely\(", lambda m: " " * (len(m[0]) - 1) + "(",
                      self.text)
        options = TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD
        self.tu = Index.create().parse(
            str(path), args=args or ["-x", "c", "-std=gnu11", "-DSHCA_CORE"],
            unsaved_files=[(str(path), view)], options=options)
        bad = [str(d) for d in self.tu.diagnostics if d.severity >= 3]
        if bad and not args:
            raise SystemExit(f"{path}: " + bad[0])
        self.lines = [0] + [m.end() for m in re.finditer("\n", self.text)]
        self.found = {}         # (start, end, new) -> (kind, function)
        self.bodies = []        # (start, end, name): functions and tables
        self.statements = []    # (start, end): what a key quotes
        self.cases = []         # constants of case labels
        self.macros = []
        for cursor in self.mine(self.tu.cursor):
            self.top(cursor)
        self.tokens()

    def mine(self, cursor):
        """Children of @cursor that stand in this file."""
        for child in cursor.get_children():
            file = child.location.file
            if file and file.name == self.tu.spelling:
                yield child

    def top(self, cursor):
        start, end = span(cursor)
        if cursor.kind == K.MACRO_INSTANTIATION:
            if self.text[end - 1] == ")":
                self.macros.append((start, end))
        elif cursor.kind == K.FUNCTION_DECL and "{" not in self.text[start:end]:
            pass    # a declaration, or what a macro defines
        elif cursor.kind == K.FUNCTION_DECL and cursor.is_definition():
            self.bodies.append((start, end, cursor.spelling))
            self.statements.append((start, self.text.index("{", start)))
            self.walk(cursor)
        elif cursor.kind == K.VAR_DECL and "{" in self.text[start:end]:
            self.bodies.append((start, end, cursor.spelling))

    def in_macro(self, start, end):
        return any(a <= start and end <= b for a, b in self.macros)

    def put(self, start, end, new, kind):
        if not self.in_macro(start, end) or kind in ("operator", "constant"):
            self.found.setdefault((start, end, new), kind)

    def around(self, start, end, value, kind):
        self.put(start, end, f"(({self.text[start:end]}), {value})", kind)

    # ---- what needs the tree -------------------------------------------------

    def walk(self, cursor):
        for child in cursor.get_children():
            start, end = span(child)
            if child.kind == K.COMPOUND_STMT or child.kind in LOOPS or \
                    child.kind in (K.IF_STMT, K.SWITCH_STMT):
                self.branch(child)
            elif child.kind in (K.CASE_STMT, K.DEFAULT_STMT):
                self.case(child)
            elif child.kind in (K.RETURN_STMT, K.DECL_STMT):
                self.statements.append((start, end))
            elif child.kind == K.CONDITIONAL_OPERATOR:
                self.condition(next(child.get_children()))
            elif child.kind == K.BINARY_OPERATOR:
                self.logical(child)
            self.walk(child)

    def condition(self, cursor, can_end=True):
        start, end = span(cursor)
        self.around(start, end, 0, "branch")
        if can_end:
            self.around(start, end, 1, "branch")

    def branch(self, cursor):
        """A statement that has others, or a condition, in it."""
        children = list(cursor.get_children())
        start, end = span(cursor)
        inner = children
        if cursor.kind == K.IF_STMT:
            self.statements.append((start, span(children[0])[1] + 1))
            self.condition(children[0])
            inner = children[1:]
        elif cursor.kind == K.SWITCH_STMT:
            self.statements.append((start, span(children[0])[1] + 1))
            inner = children[1:]
        elif cursor.kind == K.WHILE_STMT:
            self.statements.append((start, span(children[0])[1] + 1))
            self.condition(children[0], False)
            inner = children[1:]
        elif cursor.kind == K.FOR_STMT:
            self.statements.append((start, span(children[-1])[0]))
            self.for_head(start, span(children[-1])[0])
            inner = children[-1:]
        elif cursor.kind == K.DO_STMT:
            self.condition(children[1], False)
            inner = children[:1]
        for child in inner:
            self.statement(child)

    def for_head(self, start, end):
        """The condition between the semicolons; it need not be there."""
        if not self.text.startswith("for", start) or self.text[start + 3] not in " (":
            return              # a macro that is a loop
        first = self.text.index(";", start)
        second = self.text.index(";", first + 1)
        text = self.text[first + 1:second]
        if second < end and text.strip():
            begin = first + 1 + len(text) - len(text.lstrip())
            self.around(begin, second, 0, "branch")

    def case(self, cursor):
        children = list(cursor.get_children())
        start, _ = span(cursor)
        if cursor.kind == K.CASE_STMT:
            first, last = span(children[0])
            self.statements.append((start, last + 1))
            self.cases.append((first, last))
            self.put(first, last, f"0x{0x70000000 + first:x}", "case")
        self.statement(children[-1])

    def statement(self, cursor):
        start, end = span(cursor)
        if cursor.kind in (K.CASE_STMT, K.DEFAULT_STMT):
            return
        if cursor.kind in DROPPED:
            self.statements.append((start, end))
            self.put(start, end, "(void)0", "statement")
        elif cursor.kind == K.RETURN_STMT and \
                not list(cursor.get_children()):
            self.statements.append((start, end))
            self.put(start, end, "(void)0", "statement")

    def logical(self, cursor):
        op = cursor.binary_operator
        if op not in (BinaryOperator.LAnd, BinaryOperator.LOr):
            return
        for side in cursor.get_children():
            plain = side
            if plain.kind == K.BINARY_OPERATOR and plain.binary_operator == op:
                continue
            start, end = span(side)
            self.around(start, end, int(op == BinaryOperator.LAnd), "branch")

    # ---- what needs only tokens ----------------------------------------------

    def tokens(self):
        """Operators and constants of bodies, tables and macros."""
        tokens = [t for t in self.tu.get_tokens(extent=self.tu.cursor.extent)
                  if t.kind != TokenKind.COMMENT]
        define = None           # end of the #define that the token is in
        for i, token in enumerate(tokens):
            start = token.extent.start.offset
            if token.spelling == "#" and self.starts_line(start):
                end = self.directive_end(start)
                define = end if re.match(r"#\s*define", self.text[start:end]) \
                    else -end
                name = re.match(r"#\s*define\s+\w+(\([^)]*\))?",
                                self.text[start:end])
                skip = start + (name.end() if name else 0)
                continue
            if define is not None and start >= abs(define):
                define = None
            if define is not None:
                if define < 0 or start < skip:
                    continue
            elif not self.body_of(start):
                continue
            self.token(tokens, i)

    def starts_line(self, at):
        return not self.text[self.text.rfind("\n", 0, at) + 1:at].strip()

    def directive_end(self, at):
        while True:
            at = self.text.find("\n", at)
            if at < 0:
                return len(self.text)
            if self.text[at - 1] != "\\":
                return at
            at += 1

    def body_of(self, at):
        for start, end, name in self.bodies:
            if start <= at < end:
                # not its type and its parameters
                if at > self.text.index("{", start):
                    return name
        return None

    def token(self, tokens, i):
        token = tokens[i]
        text = token.spelling
        start, end = token.extent.start.offset, token.extent.end.offset
        before = tokens[i - 1].spelling if i else ""
        after = tokens[i + 1].spelling if i + 1 < len(tokens) else ""
        if any(a <= start < b for a, b in self.cases):
            return
        if text in OPERATORS:
            if text in TWO_SIDED and not ends_operand(tokens[i - 1]):
                return
            if text == "*" and (i < 2 or before in TYPES or
                                tokens[i - 2].spelling in ("struct", "enum")):
                return          # of a declaration
            self.put(start, end, OPERATORS[text], "operator")
        elif text == "!":
            self.put(start, end, "!!", "operator")
        elif text == "~":
            self.put(start, end, "", "operator")
        elif text in ("true", "false"):
            other = "false" if text == "true" else "true"
            self.put(start, end, other, "constant")
        elif LITERAL.match(text):
            digits = re.sub("[uUlL]+$", "", text)
            value = int(digits, 8 if re.match(r"0\d", digits) else 0)
            self.put(start, end, f"({text} + 1)", "constant")
            if value:
                self.put(start, end, f"({text} - 1)", "constant")
        elif text in self.known and after != "(":
            if before == "[" and after == "]":
                return          # the place of an initialiser
            change = "<< 1" if self.known[text] else "+ 1"
            self.put(start, end, f"({text} {change})", "constant")

    # ---- names ---------------------------------------------------------------

    def line_of(self, at):
        return bisect.bisect_right(self.lines, at)

    def quoted(self, start, end):
        """The smallest statement around, else the line."""
        around = [s for s in self.statements if s[0] <= start and end <= s[1]]
        if around:
            return min(around, key=lambda s: s[1] - s[0])
        first = self.text.rfind("\n", 0, start) + 1
        last = self.text.find("\n", end)
        return first, last if last >= 0 else len(self.text)

    def key(self, start, end, new, kind):
        first, last = self.quoted(start, end)
        old = self.text[start:end]
        if kind == "statement":
            change = "dropped"
        elif kind == "branch":
            change = f"{old} => {new[-2]}"
        else:
            change = f"{old} => {new}" if kind != "case" else f"{old} dropped"
        head = squeeze(self.text[first:start]).lstrip()
        tail = squeeze(self.text[end:last]).rstrip()
        if len(head) > CONTEXT:
            head = "..." + head[-CONTEXT:]
        if len(tail) > CONTEXT:
            tail = tail[:CONTEXT] + "..."
        if kind == "statement":
            return squeeze(f"drop {old}")
        return squeeze(f"{head}[[{change}]]{tail}")

    def mutants(self, seen):
        """@seen: how often each key is there already."""
        result = []
        for (start, end, new), kind in sorted(self.found.items()):
            # a function may move to another file
            where = self.body_of(start) or self.name
            key = f"{where}: {self.key(start, end, new, kind)}"
            seen[key] = seen.get(key, 0) + 1
            if seen[key] > 1:
                key += f" (number {seen[key]})"
            result.append(Mutant(self.name, self.line_of(start), start, end,
                                 new, kind, key))
        return result


def span(cursor):
    return cursor.extent.start.offset, cursor.extent.end.offset


def squeeze(text):
    return re.sub(r"[\s\\]+", " ", text)


def ends_operand(token):
    return token.kind in (TokenKind.IDENTIFIER, TokenKind.LITERAL) or \
        token.spelling in (")", "]")


# The rows of the operations, of which core/wr_op.c makes a table.
OPS = "softhca-ops.h"
OPS_ROW = re.compile(r"\bX\(([A-Z]\w*), (\w+), ([^()]*)\)")
COLUMNS = ("feature", "on", "form", "length", "answer", "flags", "completion",
           "first", "middle", "last", "only")


def wrong(column, word, row):
    """What @word of @column may be taken for; None: the core cannot tell."""
    data = row["answer"] not in ("ACK", "LOCAL")
    alone = len({row[c] for c in COLUMNS[-4:]}) == 1
    if column == "on":
        return {"RC": "CONNECTED", "CONNECTED": "RC", "MESSAGES": "ALL", "ALL": "MESSAGES"}[word]
    if column == "form":
        return "SEND" if word == "FLUSH" else "FLUSH" if data else None
    if column == "length":
        return {"ANY": "8_UP", "8_UP": "ANY", "8": "8_UP", "RANGE": "ANY"}[word]
    if column == "answer":
        return {"ACK": "LOCAL", "LOCAL": "ACK", "READ": "BARE", "BARE": "READ", "ATOMIC": "BARE"}[word]
    if column == "flags":
        return "SHCA_OPS_WAITS" if word != "SHCA_OPS_WAITS" and row["answer"] == "LOCAL" else \
            "0" if word == "SHCA_OPS_WAITS" or (data and word != "0") else \
            "SHCA_OPS_INLINE" if data else None
    if column == "completion":
        return "RDMA_READ" if word != "RDMA_READ" else "SEND"
    if column == "feature" or row["answer"] == "LOCAL" or \
            (alone and column not in ("only", "last" if row["answer"] == "READ" else "only")):
        return None
    return "READ_REQUEST" if word != "READ_REQUEST" else "FETCH_ADD"


def mutants_of_rows(kernel):
    """Each column of each operation, as far as the core looks at it."""
    text = where(kernel, OPS).read_text()
    plain = text.replace("\\", " ").replace("\n", " ").replace("\t", " ")
    for match in OPS_ROW.finditer(plain):
        words = [(m.group(), match.start(3) + m.start())
                 for m in re.finditer(r"[^\s,]+", match.group(3))]
        row = dict(zip(COLUMNS, (word for word, _ in words)))
        for column, (word, at) in zip(COLUMNS, words):
            new = wrong(column, word, row)
            if new:
                yield Mutant(OPS, text.count("\n", 0, at) + 1, at, at + len(word), new, "row",
                             f"{match.group(1)}: {column} [[{word} => {new}]]")


def files(kernel):
    """The files of the core in the tree's folder @kernel, by name."""
    return sorted((p for room in ROOMS for p in (kernel / room).iterdir() if p.suffix in (".c", ".h")),
                  key=lambda path: path.name)


def where(kernel, name):
    """The file of the core, or of uapi/, that has this @name."""
    return next(path for path in (*(kernel / room / name for room in ROOMS), kernel.parent / "uapi" / name)
                if path.exists() or path.is_symlink())


def mutants(kernel):
    """All mutants of the core in the tree's folder @kernel, in the order of its files."""
    paths = files(kernel)
    known = flags_of(paths + [where(kernel, "softhca-abi.h")])
    seen, result = {}, []
    for path in paths:
        if path.name == "os.h":         # not the core, but what it stands on
            continue
        result += Source(path, known).mutants(seen)
    return result + list(mutants_of_rows(kernel))
