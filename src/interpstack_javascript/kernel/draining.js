  function joined(texts) {
    if (texts.length === 0) return "";
    const kept = list();
    for (let i = 0; i < texts.length; i++) if (texts[i] !== "") kept[kept.length] = texts[i];
    texts.length = 0;
    return join(kept, ",");
  }
  function joinedRequests() {
    const kept = list();
    for (let i = 0; i < requests.length; i++) {
      if (requests[i] === "") continue;
      if (before < 0) before = ids[i] - 1;
      kept[kept.length] = "[" + (ids[i] - before); // the text, which may be large, is not copied for it
      kept[kept.length] = requests[i];
    }
    requests.length = 0;
    return join(kept, ",");
  }
  function drain(flush) {
    drains++;
    if (flush || live || completion !== "") takeConsole(flush || completion !== "");
    const text = '{"calls":[' + joined(calls) + '],"requests":[' + joinedRequests() + '],"cancelled":['
      + joined(cancelled) + '],"importing":' + importing + ',"idle":' + (keys(pending).length === 0) + ',"rejected":[' + rejectedTexts() + '],"unheard":' + takeUnheard() + ',"promises":' + (shown === 0 || completion === "" ? "null" : shownPromises()) + ',"completion":' + (completion === "" ? "null" : completion) + "}";
    completion = "";
    return text;
  }
  function forget() {
    active = accepting = false;
    pending = table();
    openTimers = 0;
    requests = list(); cancelled = list(); answers = list();
  }
