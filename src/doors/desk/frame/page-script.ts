// The only script of ours in a page of the frame, before all of the page's own: what they request carries the cookie of the frame, which
// a page without an origin would not send by itself. (Elements get an attribute for it in rewrite-html.ts.)
//
// Proxies, so that the functions keep their name, length and native text. The script takes itself out of the document.
const SCRIPT = `
window.fetch = new Proxy(window.fetch, {
  apply: (call, self, [what, options]) => Reflect.apply(call, self, [what, { ...options, credentials: 'include' }]),
})
XMLHttpRequest.prototype.send = new Proxy(XMLHttpRequest.prototype.send, {
  apply(call, self, given) {
    self.withCredentials = true
    return Reflect.apply(call, self, given)
  },
})
document.currentScript.remove()`

export const PAGE_SCRIPT = `<script>${SCRIPT.trim()}</script>`
