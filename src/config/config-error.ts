/** Options that do not go together, or that nothing can be run with; the message says what to do. */
export class ConfigError extends Error {}
