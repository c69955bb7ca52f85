// Typeset what pymdownx.arithmatex marked, \(…\) or \[…\], by KaTeX as it lies in this folder.
for (const element of document.querySelectorAll(".arithmatex")) {
  const formula = element.textContent.trim();
  katex.render(formula.slice(2, -2), element, {displayMode: formula.startsWith("\\["), throwOnError: false});
}

// What scrolls in a box of its own can be reached, and scrolled, by keyboard.
const reach = () => {
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset div.arithmatex, .md-typeset pre > code"))
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
};
addEventListener("load", reach);
addEventListener("resize", reach);
