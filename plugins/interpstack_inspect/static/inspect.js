"use strict"
// Pages are complete without this script: it hides rows that do not match, and follows changes.
const main = document.getElementById("main")

function filter(form, wanted) {
  const rows = [...document.querySelectorAll(`#${form.dataset.filter} tbody tr`)]
  const texts = rows.map(row => row.textContent.toLowerCase())
  const input = form.querySelector("input")
  const shown = form.querySelector("output")
  const apply = () => {
    let count = 0
    rows.forEach((row, at) => {
      row.hidden = !texts[at].includes(input.value.toLowerCase())
      count += !row.hidden
    })
    shown.value = input.value ? `${count} of ${rows.length} entries` : ""
  }
  form.hidden = false
  form.addEventListener("submit", event => event.preventDefault())
  form.addEventListener("input", apply)
  input.value = wanted
  apply()
}

function filters(wanted = "") {
  for (const form of document.querySelectorAll("form[data-filter]")) filter(form, wanted)
}

/** Whether somebody is about to answer a question: then nothing is replaced. */
function answering() {
  const fields = [...main.querySelectorAll(".question input, .question textarea")]
  return fields.some(field => field.checked || field.value !== field.defaultValue)
}

/** Replace what the page shows, and keep what is open, filtered and in focus. */
function replace(fresh) {
  const open = [...main.querySelectorAll("details[open][id]")].map(one => one.id)
  const focused = document.activeElement?.id
  const wanted = document.getElementById("filter")?.value
  main.replaceChildren(...fresh.childNodes)
  main.dataset.version = fresh.dataset.version
  for (const id of open) document.getElementById(id)?.setAttribute("open", "")
  filters(wanted)
  if (focused) document.getElementById(focused)?.focus({preventScroll: true})
}

async function follow(event) {
  if (event.data === main.dataset.version) return
  const news = document.getElementById("news")
  if (answering()) {
    news.textContent = "There is something new. Reload the page to see it."
    return
  }
  const answer = await fetch(location.href)
  if (!answer.ok) return
  const page = new DOMParser().parseFromString(await answer.text(), "text/html")
  replace(page.getElementById("main"))
  news.textContent = "This page was updated."
}

filters()
if (main.dataset.live) new EventSource(main.dataset.live).addEventListener("message", follow)
