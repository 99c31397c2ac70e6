// Addresses in a style sheet: url(…) and @import "…". What is relative would be right by itself; what begins with a slash or
// names its host is led through the frame.

// The spaces are taken in a look ahead, which never gives any back: a sheet of nothing but spaces costs its length.
const URL_FUNCTION = /url\((?=(\s*))\1(?:"([^"\n]*)"|'([^'\n]*)'|([^()"'\s]*))\s*\)/gi
const IMPORT = /(@import\s+)(?:"([^"\n]*)"|'([^'\n]*)')/gi

export function rewriteCss(css: string, lead: (address: string) => string): string {
  return css
    .replace(URL_FUNCTION, (whole, _spaces: string, double?: string, single?: string, bare?: string) => {
      const address = double ?? single ?? bare ?? ''
      const led = lead(address)
      return led === address ? whole : `url("${led.replaceAll('"', '%22')}")`
    })
    .replace(IMPORT, (whole: string, at: string, double?: string, single?: string) => {
      const address = double ?? single ?? ''
      const led = lead(address)
      return led === address ? whole : `${at}"${led.replaceAll('"', '%22')}"`
    })
}
