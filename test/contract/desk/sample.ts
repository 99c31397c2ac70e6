import { ReeveClient } from '@reeve/sdk'
import { checkCachedSession, createTaskAndWait, injectSessionCookies } from '@reeve/sdk/desk'

const { REEVE_URL: url = 'http://127.0.0.1:8080', REEVE_API_KEY: apiKey = '' } = process.env
const reeve = new ReeveClient({ url, apiKey })

const page = 'https://shop.example/cart'
const userAgent = 'Mozilla/5.0 (X11; Linux x86_64)'

let session = await checkCachedSession(page, reeve, { userAgent })
session ??= await createTaskAndWait(page, reeve, { challengeType: 'cloudflare', userAgent, priority: 7 })
const headers = session === null ? {} : injectSessionCookies({ 'user-agent': userAgent }, session)
console.log(headers) // for the request to the page
