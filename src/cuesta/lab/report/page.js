"use strict";
// Draws each figure as wide as the page is, anew when its width, the theme or a choice changes.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const session = document.getElementById("session");
  const threshold = document.getElementById("threshold");
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const views = new Map();
  const ERROR = 1; // what Vega calls `vega.Error`

  const chosen = () => data.sessions[Number(session.value)];

  // Calls `row(strategy, step, prompt, cached, other)` for each step of each line that is drawn.
  function lines(row) {
    const one = chosen();
    const values = [];
    for (const place of one ? data.choices[Number(threshold.value)] : []) {
      const [prompt, cached, other] = one.lines[place] || [[], [], []];
      one.steps.forEach((step, i) => {
        const value = row(data.strategies[place], step + 1, prompt[i], cached[i], other[i]);
        if (value) values.push(value);
      });
    }
    return values;
  }

  const known = (value) => value !== null && value !== undefined;
  const compactions = () =>
    (chosen() ? chosen().compactions : []).map((call) => ({ step: call + 1, compaction: true }));

  const ofSession = {
    context: () =>
      lines((strategy, step, tokens) => known(tokens) && { strategy, step, tokens }).concat(compactions()),
    "cost-by-step": () =>
      lines((strategy, step, _, cached, other) =>
        known(cached) && known(other)
          && { strategy, step, cached: cached / 1e6, total: (cached + other) / 1e6 }),
    steps: () =>
      Array.from(chosen() ? chosen().activity : "", (letter, i) => ({ step: i + 1, kind: data.kinds[letter] }))
        .concat(compactions()),
  };

  function sized(spec, values, width) {
    const copy = JSON.parse(JSON.stringify(spec));
    if (copy.spec) {
      // A panel's width leaves its axis out.
      copy.spec.width = Math.max(width - 80, 120);
      const steps = chosen().steps.length;
      copy.params[0].value = Math.max(1, ((steps <= 120 ? 0.8 : 1) * copy.spec.width) / steps);
    } else {
      copy.width = width;
      copy.autosize = { type: "fit-x", contains: "padding" };
    }
    copy.datasets = { rows: values };
    return copy;
  }

  async function draw(figure) {
    const name = figure.dataset.figure;
    const plot = figure.querySelector(".plot");
    const { spec, rows } = data.figures[name];
    const values = rows || ofSession[name]();
    if (views.has(name)) views.get(name).finalize();
    views.delete(name);
    if (!values.length) {
      plot.textContent = "Nothing to draw: no price is known, or no cliff can fall.";
      return;
    }
    const theme = data.themes[dark.matches ? "dark" : "light"];
    const width = plot.clientWidth;
    // On a phone legends stand below each other.
    const narrow = width < 520;
    const layout = { top: { anchor: "start", direction: narrow ? "vertical" : "horizontal" } };
    const config = { ...theme, background: null, legend: { ...theme.legend, columns: narrow ? 2 : 0, layout } };
    const view = await vegaEmbed(plot, sized(spec, values, width), {
      actions: false, logLevel: ERROR, renderer: "svg", ast: true, config, tooltip: { theme: "custom" },
    });
    views.set(name, view);
    const svg = plot.querySelector("svg");
    const caption = figure.querySelector("figcaption");
    if (svg) {
      svg.setAttribute("role", "img");
      svg.setAttribute("aria-label", caption.textContent.trim().replace(/\s+/g, " "));
    }
  }

  const all = [...document.querySelectorAll("figure[data-figure]")];
  const drawAll = () => all.reduce((before, figure) => before.then(() => draw(figure)), Promise.resolve());
  const redraw = () => all.filter((figure) => figure.dataset.figure in ofSession).forEach(draw);

  session.addEventListener("change", redraw);
  threshold.addEventListener("change", redraw);
  dark.addEventListener("change", drawAll);
  let width = window.innerWidth;
  let waiting;
  window.addEventListener("resize", () => {
    // A phone's address bar changes the height alone.
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(drawAll, 150);
  });
  drawAll();
})();
