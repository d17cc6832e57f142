const options = {mode: "vega-lite", renderer: "svg", actions: false, ast: true, tooltip: {theme: "custom"}};
async function draw(chart) {
  const spec = JSON.parse(document.getElementById(chart.dataset.spec).textContent);
  const drawing = document.createElement("div");
  chart.append(drawing);
  const {view} = await vegaEmbed(drawing, spec, options);
  chart.querySelector(".still").remove();
  return view;
}
for (const section of document.querySelectorAll("section")) {
  const views = Promise.all([...section.querySelectorAll(".chart")].map(draw));
  let kept = "";
  const show = async method => { for (const view of await views) view.signal("shown", method).run(); };
  for (const key of section.querySelectorAll(".legend button")) {
    const method = key.dataset.method;
    key.addEventListener("mouseenter", () => show(method));
    key.addEventListener("mouseleave", () => show(kept));
    key.addEventListener("click", () => {
      kept = kept === method ? "" : method;
      for (const other of section.querySelectorAll(".legend button"))
        other.setAttribute("aria-pressed", String(kept !== "" && other.dataset.method === kept));
      show(kept);
    });
  }
}
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details:not([open])")];
  for (const one of opened) one.open = true;
});
addEventListener("afterprint", () => { for (const one of opened) one.open = false; });
