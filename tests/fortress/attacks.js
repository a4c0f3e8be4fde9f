// Every way in which a page can send a request to another server. Each attack gives what it could read: a text, or "".
// It knows where the studio is and the id of a drawing, which is more than an attacker would know.
"use strict";

const WAIT = 4000;
const JSON_TEXT = '{"name": "planted"}';
const later = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Wait until an element has loaded or failed; give what can be read from it then. */
function settled(element, read) {
  return new Promise((resolve) => {
    element.onload = element.onloadeddata = () => {
      try {
        resolve(read ? read(element) || "" : "");
      } catch {
        resolve("");
      }
    };
    element.onerror = () => resolve("");
    setTimeout(() => resolve(""), WAIT);
  });
}

/** Put an element on the page. */
function put(kind, attributes, read) {
  const element = document.createElement(kind);
  const result = settled(element, read);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  document.body.append(element);
  return result;
}

const inside = (element) => element.contentDocument && element.contentDocument.documentElement.innerText;
const loaded = () => "it loaded";

function style(text) {
  const sheet = document.createElement("style");
  sheet.textContent = text;
  document.body.append(sheet);
  const box = document.createElement("div");
  box.className = "probe";
  box.textContent = "x";
  document.body.append(box);
  return later(500).then(() => "");
}

/** Send a form as a person's click would, into a frame of this page or a window of its own. */
function form(action, method, enctype, fields, target) {
  const frame = document.createElement("iframe");
  frame.name = `f${Math.random()}`;
  const result = settled(frame, inside);
  document.body.append(frame);
  const sent = document.createElement("form");
  Object.assign(sent, { action, method, enctype, target: target || frame.name });
  for (const [name, value] of Object.entries(fields)) {
    const input = document.createElement("input");
    Object.assign(input, { type: "hidden", name, value });
    sent.append(input);
  }
  document.body.append(sent);
  sent.submit();
  return target ? later(500).then(() => "") : result;
}

async function text(url, options) {
  const answer = await fetch(url, options);
  return answer.text();
}

function request(method, url, body, kind, credentials) {
  return new Promise((resolve) => {
    const asked = new XMLHttpRequest();
    asked.open(method, url);
    asked.withCredentials = credentials;
    if (kind) asked.setRequestHeader("Content-Type", kind);
    asked.onloadend = () => resolve(asked.responseText || "");
    asked.send(body);
  });
}

function socket(url, protocols) {
  return new Promise((resolve) => {
    const opened = new WebSocket(url, protocols);
    let heard = "";
    opened.onopen = () => {
      heard += "it opened";
      opened.send(JSON.stringify({ type: "hello", client: "a".repeat(32), seen: null }));
      const edit = { label: "planted", patches: [{ put: "note", id: "n", record: { id: "n", text: "planted" } }] };
      opened.send(JSON.stringify({ type: "edit", number: 1, edit }));
    };
    opened.onmessage = (message) => (heard += message.data);
    opened.onerror = opened.onclose = () => resolve(heard);
    setTimeout(() => resolve(heard), WAIT);
  });
}

function events(url, withCredentials) {
  return new Promise((resolve) => {
    const source = new EventSource(url, { withCredentials });
    const done = (heard) => (source.close(), resolve(heard));
    source.onmessage = (message) => done(message.data);
    source.onopen = () => done("it opened");
    source.onerror = () => done("");
  });
}

async function opened(url) {
  const other = window.open(url, "_blank");
  await later(1500);
  try {
    return other && !other.closed ? other.document.documentElement.innerText : "";
  } catch {
    return "";
  } finally {
    if (other) other.close();
  }
}

function posted(url, mode, kind, more) {
  const body = new Blob([JSON_TEXT], { type: kind });
  return text(url, { method: "POST", mode, credentials: "include", body, ...more });
}

const urls = (here) => ({
  tag: here.tag,
  read: (name) => `${here.studio}/api/workspace?attack=${here.tag}.${name}`,
  file: (name) => `${here.studio}/api/drawings/${here.id}/file?attack=${here.tag}.${name}`,
  write: (name) => `${here.studio}/api/drawings?attack=${here.tag}.${name}`,
  remove: (name) => `${here.studio}/api/drawings/${here.id}/delete?attack=${here.tag}.${name}`,
  live: (name) => `${here.studio.replace("http", "ws")}/api/drawings/${here.id}/live?attack=${here.tag}.${name}`,
  by: (path, url) => `${here.own}${path}?to=${encodeURIComponent(url)}`,
});

const READING = {
  "fetch-cors": (to, name) => text(to.read(name), { mode: "cors" }),
  "fetch-cors-credentials": (to, name) => text(to.read(name), { mode: "cors", credentials: "include" }),
  "fetch-no-cors": (to, name) => text(to.read(name), { mode: "no-cors", credentials: "include" }),
  "fetch-same-origin": (to, name) => text(to.read(name), { mode: "same-origin" }),
  "fetch-token": (to, name) => text(to.read(name), { headers: { Authorization: "Bearer guess" } }),
  "fetch-file": (to, name) => text(to.file(name), { credentials: "include", cache: "force-cache" }),
  "fetch-no-referrer": (to, name) => text(to.read(name), { credentials: "include", referrerPolicy: "no-referrer" }),
  "fetch-redirected": (to, name) => text(to.by("/redirect", to.read(name)), { credentials: "include" }),
  "fetch-head": (to, name) => text(to.read(name), { method: "HEAD", mode: "no-cors", credentials: "include" }),
  "request": (to, name) => request("GET", to.read(name), null, "", false),
  "request-credentials": (to, name) => request("GET", to.read(name), null, "", true),
  "events": (to, name) => events(to.read(name), true),
  "image": (to, name) => put("img", { src: to.read(name) }, loaded),
  "image-picture": (to, name) => put("img", { src: to.file(name).replace("/file", "/picture.svg") }, loaded),
  "image-cors": (to, name) => put("img", { src: to.read(name), crossorigin: "use-credentials" }, loaded),
  "input-image": (to, name) => put("input", { type: "image", src: to.read(name) }, loaded),
  "script": (to, name) => put("script", { src: to.read(name) }, loaded),
  "script-cors": (to, name) => put("script", { src: to.read(name), crossorigin: "use-credentials" }, loaded),
  "script-module": (to, name) => put("script", { src: to.read(name), type: "module" }, loaded),
  "import": (to, name) => import(to.read(name)).then(loaded),
  "stylesheet": (to, name) => put("link", { rel: "stylesheet", href: to.read(name) }, loaded),
  "preload": async (to, name) => {
    // A preload is loaded once anything has come, a refusal too: what it holds is what the page can fetch from it.
    await put("link", { rel: "preload", as: "fetch", href: to.read(name), crossorigin: "" });
    return text(to.read(name), { mode: "cors" });
  },
  "modulepreload": (to, name) => put("link", { rel: "modulepreload", href: to.read(name) }, loaded),
  "prefetch": (to, name) => put("link", { rel: "prefetch", href: to.read(name) }),
  "style-import": (to, name) => style(`@import url("${to.read(name)}");`),
  "style-background": (to, name) => style(`.probe { background: url("${to.read(name)}"); }`),
  "style-font": (to, name) => style(`@font-face { font-family: p; src: url("${to.read(name)}"); } .probe { font-family: p; }`),
  "video": (to, name) => put("video", { src: to.read(name) }, loaded),
  "audio": (to, name) => put("audio", { src: to.read(name), preload: "auto" }, loaded),
  "frame": (to, name) => put("iframe", { src: to.read(name) }, inside),
  "frame-front": (to, name) => put("iframe", { src: to.read(name).replace("/api/workspace", "/") }, inside),
  "frame-redirected": (to, name) => put("iframe", { src: to.by("/redirect", to.read(name)) }, inside),
  "object": (to, name) => put("object", { data: to.read(name) }, inside),
  "embed": (to, name) => put("embed", { src: to.read(name) }),
  "window": (to, name) => opened(to.read(name)),
  "cache": async (to, name) => {
    const cache = await caches.open("stolen");
    await cache.add(new Request(to.read(name), { credentials: "include" }));
    return "it was kept";
  },
  "worker": (to, name) => settled(new Worker(to.read(name)), loaded),
  "service-worker": (to, name) => navigator.serviceWorker.register(to.read(name), { scope: "/" }).then(loaded),
};

const CHANGING = {
  "form-urlencoded": (to, name) => form(to.write(name), "post", "application/x-www-form-urlencoded", { name: "planted" }),
  "form-multipart": (to, name) => form(to.write(name), "post", "multipart/form-data", { name: "planted" }),
  "form-text": (to, name) => form(to.write(name), "post", "text/plain", { '{"name": "planted", "x": "': '"}' }),
  "form-get": (to, name) => form(to.remove(name), "get", "", { attack: `${to.tag}.${name}` }),
  "form-delete": (to, name) => form(to.remove(name), "post", "text/plain", {}),
  "form-window": (to, name) => form(to.write(name), "post", "text/plain", { '{"name": "planted", "x": "': '"}' }, "_blank"),
  "form-redirected": (to, name) => form(to.by("/again", to.write(name)), "post", "text/plain", { '{"name": "p", "x": "': '"}' }),
  "post-simple": (to, name) => posted(to.write(name), "no-cors", "text/plain"),
  "post-unnamed": (to, name) => posted(to.write(name), "no-cors", ""),
  "post-json": (to, name) => posted(to.write(name), "cors", "application/json"),
  "post-json-no-cors": (to, name) => posted(to.write(name), "no-cors", "application/json"),
  "post-delete": (to, name) => posted(to.remove(name), "no-cors", "text/plain"),
  "post-keepalive": (to, name) => posted(to.write(name), "no-cors", "text/plain", { keepalive: true }),
  "post-no-referrer": (to, name) => posted(to.write(name), "no-cors", "text/plain", { referrerPolicy: "no-referrer" }),
  "post-redirected": (to, name) => posted(to.by("/again", to.write(name)), "no-cors", "text/plain"),
  "post-override": (to, name) => posted(to.write(name), "cors", "text/plain", { headers: { "X-HTTP-Method-Override": "POST" } }),
  "put": (to, name) => text(to.write(name), { method: "PUT", body: JSON_TEXT }),
  "delete": (to, name) => text(to.remove(name), { method: "DELETE", credentials: "include" }),
  "request-post": (to, name) => request("POST", to.write(name), JSON_TEXT, "text/plain", true),
  "request-json": (to, name) => request("POST", to.write(name), JSON_TEXT, "application/json", true),
  "beacon": async (to, name) => (navigator.sendBeacon(to.write(name), JSON_TEXT), ""),
  "beacon-json": async (to, name) => (navigator.sendBeacon(to.write(name), new Blob([JSON_TEXT], { type: "application/json" })), ""),
  "ping": async (to, name) => {
    const link = document.createElement("a");
    Object.assign(link, { href: "#", ping: to.remove(name) });
    document.body.append(link);
    link.click();
    return "";
  },
  "report": (to, name) => put("iframe", { src: to.by("/reporting", to.write(name)) }),
  "socket": (to, name) => socket(to.live(name)),
  "socket-protocol": (to, name) => socket(to.live(name), ["inkcap"]),
};

/** Run every attack at once; give what each could read, and "" for one that the browser itself refused. */
async function attackAll(here) {
  const to = urls(here);
  const every = Object.entries({ ...READING, ...CHANGING });
  const read = await Promise.all(
    every.map(async ([name, attack]) => {
      try {
        return [name, String((await Promise.race([attack(to, name), later(3 * WAIT)])) || "")];
      } catch {
        return [name, ""];
      }
    }),
  );
  return Object.fromEntries(read);
}
