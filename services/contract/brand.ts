declare const brand: unique symbol

/** A string that only one place may make: the compiler keeps, say, a policy's name and a domain's apart. */
export type Brand<Name extends string> = string & { readonly [brand]: Name }
