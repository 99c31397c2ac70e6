// The package has no types of its own; these are the parts that the tests use.
declare module '@20minutes/s3rver' {
  import type { Server } from 'node:http'
  import type { AddressInfo } from 'node:net'

  interface Context {
    path: string
    app: S3rver
  }

  class S3rver {
    constructor(options: {
      address: string
      port: number
      directory: string
      silent: boolean
      vhostBuckets: boolean
      configureBuckets: { name: string }[]
    })
    httpServer: Server
    middleware: ((context: Context, next: () => Promise<void>) => Promise<void>)[]
    run(): Promise<AddressInfo>
    close(): Promise<void>
  }
  export = S3rver
}
