export const meta = { name: 'two-houses', description: 'Runs another script for each house' }

const houses = args ?? ['north', 'south']
const counted = await parallel(houses.map((house) => () => workflow({ scriptPath: './nested_child.js' }, { house })))
const named = await workflow('count-rooms', { house: 'east' })
let missing = null
try {
  await workflow(`houses-${houses.length}`)
} catch (error) {
  missing = error.message
}
return { counted, named, missing }
