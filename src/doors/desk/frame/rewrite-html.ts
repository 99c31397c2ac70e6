// A page of the world, made to live in the frame: its addresses are led through the frame, and what would lead out of it
// (a policy of its own, a target outside, a cookie in a meta) is left out. The page's scripts are not changed.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { RewritingStream } from 'parse5-html-rewriting-stream'
import { resolve } from './frame-url.ts'
import { PAGE_SCRIPT } from './page-script.ts'
import { rewriteCss } from './rewrite-css.ts'

const CHUNK_CHARS = 65_536 // between two of them others have their turn
const FOREIGN_MAX = 5000

const ADDRESSES = new Set(['href', 'src', 'action', 'formaction', 'poster', 'data', 'background', 'xlink:href'])
const SETS = new Set(['srcset', 'imagesrcset'])
const LEFT_OUT = new Set(['ping', 'manifest', 'target', 'formtarget', 'attributionsrc'])
const LEFT_OUT_METAS = /^(?:content-security-policy(?:-report-only)?|x-frame-options|set-cookie)$/i
/** All before the address. Nothing in it need be given back, so that it costs no more than its length. */
const REFRESH = /^\s*[\d.]+\s*[;,]?\s*(?:url\s*=\s*)?/i

type StartTag = Parameters<RewritingStream['emitStartTag']>[0]

export interface Leading {
  /** Where the page is in the world: what its addresses are relative to. */
  page: URL
  /** Where an address of the world is in the frame; null: it stays as it is, and the browser is not let there. */
  lead(url: URL, isFrame: boolean): string | null
  /** For a page that is not shown at its own place in the frame. */
  base: string | null
}

/** The parser is slow with many of these inside each other: it keeps a list of them, and puts each new one at its beginning. */
export function isTooDeep(html: string): boolean {
  let count = 0
  for (const _foreign of html.matchAll(/<(?:svg|math)\b/gi)) if ((count += 1) > FOREIGN_MAX) return true
  return false
}

export async function rewriteHtml(html: string, leading: Leading): Promise<string> {
  const rewriter = new RewritingStream()
  const out: string[] = []
  rewriter.on('data', (chunk: unknown) => out.push(String(chunk)))
  const state: State = { base: leading.page, hasBegun: false, style: null }
  const leadText = (address: string, isFrame = false) => leadAddress(address, state.base, leading, isFrame)

  rewriter.on('startTag', (tag: StartTag, raw: string) => {
    if (!state.hasBegun && tag.tagName !== 'html' && tag.tagName !== 'head') begin(rewriter, state, leading)
    if (isLeftOut(tag)) return
    if (tag.tagName === 'base') moveBase(tag, state, leading)
    if (tag.tagName === 'style' && !tag.selfClosing) state.style = []
    if (changeTag(tag, leadText)) rewriter.emitStartTag(tag)
    else rewriter.emitRaw(raw)
    if (!state.hasBegun && tag.tagName === 'head') begin(rewriter, state, leading)
  })
  rewriter.on('text', (_text: unknown, raw: string) => {
    if (state.style === null) rewriter.emitRaw(raw)
    else state.style.push(raw)
  })
  rewriter.on('endTag', (tag: { tagName: string }, raw: string) => {
    if (tag.tagName === 'style' && state.style !== null) {
      rewriter.emitRaw(rewriteCss(state.style.join(''), leadText))
      state.style = null
    }
    rewriter.emitRaw(raw)
  })

  for (let start = 0; start < html.length; start += CHUNK_CHARS) {
    rewriter.write(html.slice(start, start + CHUNK_CHARS))
    await nextTurn()
  }
  rewriter.end()
  await nextTurn()
  if (state.style !== null) out.push(rewriteCss(state.style.join(''), leadText)) // a page that ends within its style
  return out.join('')
}

interface State {
  base: URL
  /** What the frame puts before everything else is written. */
  hasBegun: boolean
  /** The text of the style element that is open. */
  style: string[] | null
}

function begin(rewriter: RewritingStream, state: State, { base }: Leading): void {
  state.hasBegun = true
  const escaped = base?.replaceAll('&', '&amp;').replaceAll('"', '&quot;')
  rewriter.emitRaw(`${PAGE_SCRIPT}${escaped === undefined ? '' : `<base href="${escaped}">`}`)
}

/** The first base of a page counts for all that follows. */
function moveBase(tag: StartTag, state: State, { page }: Leading): void {
  const href = tag.attrs.find(({ name }) => name === 'href')?.value
  const base = href === undefined || state.base !== page ? null : resolve(href, page)
  if (base !== null) state.base = base
}

const isLeftOut = (tag: StartTag): boolean =>
  tag.tagName === 'meta' &&
  tag.attrs.some(({ name, value }) => name === 'http-equiv' && LEFT_OUT_METAS.test(value.trim()))

/** Whether anything was changed: what was not is given on as it was written. */
function changeTag(tag: StartTag, lead: (address: string, isFrame?: boolean) => string): boolean {
  let changed = false
  const isFrame = tag.tagName === 'iframe' || tag.tagName === 'frame'
  const isRefresh =
    tag.tagName === 'meta' && tag.attrs.some(({ name, value }) => name === 'http-equiv' && /refresh/i.test(value))
  const attrs = tag.attrs.flatMap((attr) => {
    const name = attr.prefix === undefined || attr.prefix === '' ? attr.name : `${attr.prefix}:${attr.name}`
    // The sheet is rewritten on its way, so that its digest is another.
    if (LEFT_OUT.has(name) || (name === 'integrity' && tag.tagName === 'link')) {
      changed = true
      return []
    }
    const value = valueOf(name, attr.value, { isFrame, isRefresh, lead })
    if (value === attr.value) return [attr]
    changed = true
    return [{ ...attr, value }]
  })
  if (changed) tag.attrs = attrs
  return sendCookies(tag) || changed
}

/** What is loaded with CORS would come without the cookie of the frame. */
function sendCookies(tag: StartTag): boolean {
  const given = (wanted: string) => tag.attrs.find(({ name }) => name === wanted)?.value
  const isModule =
    (tag.tagName === 'script' && given('type')?.trim().toLowerCase() === 'module') ||
    (tag.tagName === 'link' && given('rel')?.trim().toLowerCase() === 'modulepreload')
  if (!isModule && given('crossorigin') === undefined) return false
  const others = tag.attrs.filter(({ name }) => name !== 'crossorigin')
  tag.attrs = [...others, { name: 'crossorigin', value: 'use-credentials' }]
  return true
}

interface Change {
  isFrame: boolean
  isRefresh: boolean
  lead: (address: string, isFrame?: boolean) => string
}

function valueOf(name: string, value: string, { isFrame, isRefresh, lead }: Change): string {
  if (ADDRESSES.has(name)) return lead(value, isFrame)
  if (SETS.has(name)) return leadSet(value, lead)
  if (name === 'style') return rewriteCss(value, lead)
  if (isRefresh && name === 'content') return leadRefresh(value, lead)
  return value
}

/** `5; url='/next'`: in quotes up to the next one, as a browser reads it. */
function leadRefresh(value: string, lead: (address: string) => string): string {
  const before = REFRESH.exec(value)?.[0]
  if (before === undefined) return value
  const rest = value.slice(before.length)
  const quote = /^['"]/.exec(rest)?.[0]
  const address = (quote === undefined ? rest : (rest.slice(1).split(quote, 1)[0] ?? '')).trim()
  return address === '' ? value : `${before}${lead(address)}`
}

const leadSet = (set: string, lead: (address: string) => string): string =>
  set.replace(/(^|,)(\s*)([^\s,][^\s]*[^\s,]|[^\s,])/g, (_whole, comma: string, space: string, address: string) => {
    return `${comma}${space}${lead(address)}`
  })

function leadAddress(address: string, base: URL, { lead }: Leading, isFrame: boolean): string {
  const url = resolve(address, base)
  return url === null ? address : (lead(url, isFrame) ?? url.href)
}
