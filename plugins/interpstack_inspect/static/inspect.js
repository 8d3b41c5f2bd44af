"use strict"
// Pages are complete without this script: it hides rows that do not match, follows changes, shows
// times in the reader's zone, and adds keys.
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

const dates = new Intl.DateTimeFormat(undefined, {
  year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit",
  second: "2-digit", timeZoneName: "short",
})

/** Show times in the reader's zone; the time in UTC stays as a title. */
function localTimes() {
  for (const one of main.querySelectorAll("time[datetime]:not([title])")) {
    one.title = one.textContent
    one.textContent = dates.format(new Date(one.dateTime))
  }
}

/** Whether somebody is about to answer a question: then nothing is replaced. */
function answering() {
  const fields = [...main.querySelectorAll(".question input:not([type=hidden]), .question textarea")]
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
  localTimes()
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
  if (answering()) return follow(event)
  document.title = page.title
  replace(page.getElementById("main"))
  news.textContent = "This page was updated."
}

// -- keys ------------------------------------------------------------------------------------

const help = document.getElementById("keys")
const useKeys = document.getElementById("use-keys")
const KEPT = "interpstack-inspect-keys"
const DECISIONS = {a: "approve", e: "edit", r: "reject", s: "respond"}

/** Move the focus to the next or previous item. */
function step(by) {
  const items = [...main.querySelectorAll("[data-item]")].filter(one => one.offsetParent !== null)
  const here = document.activeElement
  const at = items.findIndex(one => one.contains(here))
  const next = at < 0 ? (by > 0 ? 0 : -1) : at + by
  items[next]?.focus()
}

/** Take a decision or a choice in a call, and go to where it is completed; nothing is sent. */
function decide(call, radio) {
  radio.checked = true
  const field = {edit: "args-", reject: "message-", respond: "message-"}[radio.value]
  const text = radio.name === "choice" ? null : field && call.querySelector(`textarea[id^=${field}]`)
  const calls = [...call.form.querySelectorAll("fieldset")]
  const open = calls.find(one => one.querySelector("input[type=radio]") &&
    !one.querySelector("input[type=radio]:checked"))
  ;(text || open || call.form.querySelector("button")).focus()
}

function pressed(event) {
  const {target, key} = event
  const form = target.closest?.("form.question")
  if (key === "Enter" && (event.ctrlKey || event.metaKey) && form) {
    event.preventDefault()
    form.requestSubmit()
    return
  }
  const writes = target.matches("textarea, select, input:not([type=radio], [type=checkbox])")
  if (event.ctrlKey || event.metaKey || event.altKey || writes || help.open) return
  const call = target.closest("form.question fieldset")
  const item = target.matches("[data-item]") && target.querySelector("a, summary")
  const radio = call && call.querySelector(DECISIONS[key]
    ? `input[name^=decision-][value=${DECISIONS[key]}]`
    : /^[1-9]$/.test(key) ? `input[name=choice][value="${key - 1}"]` : "not-there")
  if (key === "Enter" && item && !call) item.click()
  else if (!useKeys.checked) return
  else if (radio) decide(call, radio)
  else if (key === "j" || key === "k") step(key === "j" ? 1 : -1)
  else if (key === "/") (document.getElementById("filter") ?? document.getElementById("containing"))?.focus()
  else if (key === "?") help.showModal()
  else return
  event.preventDefault()
}

useKeys.checked = localStorage.getItem(KEPT) !== "no"
useKeys.addEventListener("change", () => localStorage.setItem(KEPT, useKeys.checked ? "yes" : "no"))
const showKeys = document.getElementById("show-keys")
showKeys.hidden = false
showKeys.addEventListener("click", () => help.showModal())
document.addEventListener("keydown", pressed)

filters()
localTimes()
if (main.dataset.live) new EventSource(main.dataset.live).addEventListener("message", follow)
