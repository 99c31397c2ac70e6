// Which server a command has asked. An answer of another form than expected shows only where it is used, as a TypeError.
let server: string | null = null

export const noteAsked = (url: string): void => void (server = url)

export const askedServer = (): string | null => server
