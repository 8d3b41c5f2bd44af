// `Temporal`, over the `Intl` of the guest and its clock; evaluated when `Intl` is there.
export { installImplementation as install } from "temporal-polyfill/shim";
