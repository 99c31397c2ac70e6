declare module 'pg/lib/utils.js' {
  const utils: {
    /** A value as a parameter of a statement. */
    prepareValue(value: unknown): string | Buffer | null
  }
  export default utils
}
