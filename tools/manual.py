#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""manual.py DIRECTORY: writes the manual pages of sections 3 and 5 to DIRECTORY/man3 and DIRECTORY/man5.

Section 3 comes from sheaf.h: each part under a heading "/* ---- Title (page) ---" becomes the page, and
each function gets a link to the page that describes it. Section 5 comes from formats/FORMATS.md,
reader/ORDER.md and packer/PLAN.md."""

import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
HEADING = re.compile(r"^/\* ---- ([^\n]*?) \((\w+)\) -+", re.M)
FORMATS = (("sheaf-formats", "formats/FORMATS.md", "the bytes of a data set"),
           ("sheaf-order", "reader/ORDER.md", "the order of an epoch"),
           ("sheaf-plan-file", "packer/PLAN.md", "stored plans"))


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def escape(text):
    """Returns text in which roff finds no commands."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return re.sub(r"^\.", r"\\&.", text, flags=re.M)


def comment_body(comment):
    """Returns the text of a comment without its marks, with one paragraph per line."""
    lines = [re.sub(r"^\s*\* ?", "", line) for line in comment[2:-2].split("\n")]
    return "\n".join(line.rstrip() for line in lines).strip()


def prose(text):
    """Returns roff for paragraphs, lists and preformatted lines of a comment."""
    out = []
    for paragraph in re.split(r"\n\s*\n", text):
        if not paragraph.strip():
            continue
        out.append(".PP")
        for line in paragraph.split("\n"):
            item = re.match(r"\s*(?:-|\d\))\s+(.*)", line)
            if item:
                out += [".IP \\(bu 3", escape(item.group(1))]
            elif line.startswith("    "):
                out += [".br", escape(line)]
            else:
                out.append(escape(line.strip()))
    return out


def declarations(text):
    """Returns roff for a part of the header: comments as text, code as it is."""
    out, at = [], 0
    for match in re.finditer(r"^/\*.*?\*/\n", text, re.M | re.S):
        out += code(text[at:match.start()])
        out += prose(comment_body(match.group(0).strip()))
        at = match.end()
    return out + code(text[at:])


def code(text):
    text = re.sub(r"\b(SHEAF_API|SHEAF_CALL) ", "", text).strip("\n")
    return [".PP", ".nf", escape(text), ".fi"] if text.strip() else []


def functions(text):
    return re.findall(r"^SHEAF_(?:API|CALL)[^;(]*?\b(sheaf_\w+)\(", text, re.M)


def write_page(directory, name, section, title, body, version):
    path = os.path.join(directory, "man%d" % section, "%s.%d" % (name, section))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    lines = ['.TH %s %d "" "Sheaf %s" "Sheaf"' % (name.upper(), section, version),
             ".ad l", ".SH NAME", "%s \\- %s" % (escape(name), escape(title))] + body
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def write_links(directory, part, page):
    """Makes a link from each function in a part of the header to the page of the part."""
    for name in functions(part):
        if name != page:
            with open(os.path.join(directory, "man3", name + ".3"), "w", encoding="utf-8") as file:
                file.write(".so man3/%s.3\n" % page)


def see_also(pages):
    pages = list(pages)
    return [".SH SEE ALSO"] + [".BR %s (3)%s" % (page, "," if page != pages[-1] else "") for page in pages]


def write_introduction(directory, part, headings, version):
    """Writes the page with the text before the first heading: the rules for all calls, and the version."""
    comment, _, rest = part.partition("*/")
    intro = comment_body(comment.replace("SPDX-License-Identifier: MIT", "") + "*/")
    rest = re.sub(r"^#(if|endif|else|include|ifdef|ifndef|define SHEAF_(H|API|CALL)).*\n|^extern \"C\".*\n", "", rest, flags=re.M)
    body = [".SH SYNOPSIS", ".nf", "#include <sheaf.h>", ".fi", ".SH DESCRIPTION"] + prose(intro)
    write_page(directory, "sheaf", 3, "the library", body + declarations(rest.lstrip("\n")) +
               see_also(heading.group(2) for heading in headings), version)
    write_links(directory, part, "sheaf")


def write_section_3(directory, header, version):
    headings = list(HEADING.finditer(header))
    write_introduction(directory, header[:headings[0].start()], headings, version)
    for heading, following in zip(headings, headings[1:] + [None]):
        title, page = heading.groups()
        part = header[heading.start():following.start() if following else header.index("#ifdef __cplusplus\n}")]
        first, _, rest = part.partition("\n")
        if not first.endswith("*/"):            # the comment of the heading continues
            end = rest.index("*/")
            intro, rest = "/*\n" + rest[:end] + "*/", rest[end + 2:].lstrip("\n")
        else:
            intro = ""
        body = [".SH SYNOPSIS", ".nf", "#include <sheaf.h>", ".fi", ".SH DESCRIPTION"]
        body += prose(comment_body(intro)) if intro else []
        body += declarations(rest)
        body += see_also(other.group(2) for other in headings if other is not heading)
        write_page(directory, page, 3, title, body, version)
        write_links(directory, part, page)


def markdown(text):
    """Returns roff for the Markdown that the specifications use."""
    out, lines, at = [], text.split("\n"), 0
    while at < len(lines):
        line = lines[at]
        if line.startswith("```"):
            end = lines.index("```", at + 1)
            out += [".PP", ".nf"] + [escape(other) for other in lines[at + 1:end]] + [".fi"]
            at = end
        elif line.startswith("#"):
            level = ".SH " if line.startswith("# ") or line.startswith("## ") else ".SS "
            out.append(level + escape(line.lstrip("# ")))
        elif line.startswith("|"):
            if not re.match(r"^[|\s:-]+$", line):
                cells = [cell.strip() for cell in line.strip("|").split(" | ")]
                out += [".TP", plain(cells[0]) or "\\&", plain("; ".join(cells[1:])) or "\\&"]
        elif line.startswith("- "):
            out += [".IP \\(bu 3", plain(line[2:])]
        elif line.startswith("    "):
            out += [".br", escape(line)]
        elif line.strip():
            out.append(plain(line.strip()))
        else:
            out.append(".PP")
        at += 1
    return out


def plain(text):
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return escape(re.sub(r"\*\*|`", "", text).replace("\\*", "*"))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    header = read("sheaf.h")
    version = ".".join(re.search(r"#define SHEAF_VERSION_%s (\d+)" % part, header).group(1)
                       for part in ("MAJOR", "MINOR", "PATCH"))
    write_section_3(sys.argv[1], header, version)
    for name, path, title in FORMATS:
        write_page(sys.argv[1], name, 5, title, markdown(read(path)), version)


if __name__ == "__main__":
    main()
