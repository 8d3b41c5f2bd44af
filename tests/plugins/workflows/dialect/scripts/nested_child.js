export const meta = { name: 'count-rooms', description: 'Counts the rooms of a house' }

const { house } = args
return { house, rooms: await agent(`Count the rooms of ${house}`, { label: house }) }
