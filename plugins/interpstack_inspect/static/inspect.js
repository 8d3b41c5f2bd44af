"use strict"
// Pages are complete without this script: it hides rows that do not match.
for (const form of document.querySelectorAll("form[data-filter]")) {
  const rows = [...document.querySelectorAll(`#${form.dataset.filter} tbody tr`)]
  const texts = rows.map(row => row.textContent.toLowerCase())
  const shown = form.querySelector("output")
  form.hidden = false
  form.addEventListener("submit", event => event.preventDefault())
  form.addEventListener("input", () => {
    const wanted = form.querySelector("input").value.toLowerCase()
    let count = 0
    rows.forEach((row, at) => {
      row.hidden = !texts[at].includes(wanted)
      count += !row.hidden
    })
    shown.value = wanted ? `${count} of ${rows.length} entries` : ""
  })
}
