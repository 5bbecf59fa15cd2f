/** An answer about a coin whose unit has a price in USD: none of its figures is null for want of one. */
export type Priced<Answer> = [number] extends [Answer]
  ? Exclude<Answer, null>
  : Answer extends object
    ? { readonly [Name in keyof Answer]: Priced<Answer[Name]> }
    : Answer
