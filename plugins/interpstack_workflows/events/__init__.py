"""Events of runs, and the trees and counts that are made of them."""
