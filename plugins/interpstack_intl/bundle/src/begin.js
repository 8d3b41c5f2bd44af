// Before the polyfills: they look for what the engine has.
globalThis.Intl = {};
