# The rules of check-plan.mjs for conftest:
#   draftsync plan --format json > plan.json
#   conftest test plan.json --policy plan.rego
package main

import rego.v1

max_publishes := 5

deny contains message if {
	some change in input.changes
	change.action == "delete"
	contains(change.address, "/product_files/")
	message := sprintf("%s: a product file may not be deleted", [change.address])
}

deny contains message if {
	some change in input.changes
	change.action == "create"
	contains(change.address, "/promotional_files/")
	object.get(change.after, "description", "") == ""
	message := sprintf("%s: a promotional file needs a description", [change.address])
}

deny contains message if {
	publishes := [change | some change in input.changes; change.action == "publish"]
	count(publishes) > max_publishes
	message := sprintf("%d publishes: more than %d in one plan", [count(publishes), max_publishes])
}
